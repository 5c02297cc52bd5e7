# Build options. Every one has a default that builds on a plain CPU machine.
option(LYNXKV_TESTS "Build the tests" ON)
option(LYNXKV_WERROR "Treat warnings as errors" ON)
set(LYNXKV_CUDA "AUTO" CACHE STRING "CUDA back end: AUTO (where a toolkit is found), ON or OFF")
set(LYNXKV_CUDA_ARCHITECTURES "80;90;100" CACHE STRING "GPU architectures of the CUDA build")
set(LYNXKV_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize= (address,undefined or thread)")
option(LYNXKV_FUZZ "Build the parsers' fuzz targets (clang)" OFF)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_CXX_FLAGS_RELEASE "-O2" CACHE STRING "Flags of a release build" FORCE)

# Bytes must agree between back ends and machines: a multiply and an add are fused only where the source says so.
set(lynxkv_flags -ffp-contract=off -Wall -Wextra -Wshadow -Wnon-virtual-dtor)
if(LYNXKV_WERROR)
  list(APPEND lynxkv_flags -Werror)
endif()
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${lynxkv_flags}>")
if(LYNXKV_SANITIZE)
  add_compile_options(-fsanitize=${LYNXKV_SANITIZE} -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${LYNXKV_SANITIZE})
endif()
if(LYNXKV_FUZZ)  # tests/fuzz links the targets with libFuzzer
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -g)
  add_link_options(-fsanitize=address,undefined)
endif()

# Paths below the checkout count as relative, so that another clone of the same sources finds what was compiled.
find_program(LYNXKV_CCACHE ccache)
if(LYNXKV_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      "${LYNXKV_CCACHE}")
endif()
