// MPI's return codes as Error{transport}. For the two files that call MPI.
#pragma once

#include <mpi.h>

#include <string>

#include "base/error.hpp"

namespace lynxkv::comm {

inline void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(ErrorCode::transport, call, std::string(text) + "; the job cannot go on, run the same command again");
}

}  // namespace lynxkv::comm
