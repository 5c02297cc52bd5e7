// The raw link over MPI, and what MPI says of itself.
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/link_facts.hpp"
#include "comm/mpi.hpp"
#include "comm/raw_link.hpp"

namespace lynxkv::comm {
namespace {

// A count of MPI is an int.
constexpr std::size_t largest_part_bytes = std::size_t{1} << 30;
constexpr int raw_tag = 2;

class RawMpi final : public RawLink {
 public:
  RawMpi() {
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &communicator_), "MPI_Comm_dup");
    check_mpi(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(communicator_, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(communicator_, &size_), "MPI_Comm_size");
  }
  ~RawMpi() override { MPI_Comm_free(&communicator_); }
  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  const char* name() const noexcept override { return "MPI_Send"; }

  void exchange(std::span<const Send> sends, std::span<const Receive> receives) override {
    const bool alone = sends.size() + receives.size() == 1;
    std::vector<MPI_Request> requests;
    std::vector<int> expected;
    const auto parts = [](std::size_t bytes, const auto& each) {
      std::size_t at = 0;
      do {
        const std::size_t part = std::min(largest_part_bytes, bytes - at);
        each(at, static_cast<int>(part));
        at += part;
      } while (at < bytes);
    };
    for (const Receive& receive : receives)
      parts(receive.bytes.size(), [&](std::size_t at, int count) {
        MPI_Status status;
        if (alone) {
          check_mpi(MPI_Recv(receive.bytes.data() + at, count, MPI_BYTE, receive.peer, raw_tag, communicator_, &status),
                    "MPI_Recv");
          return expect(status, count);
        }
        check_mpi(MPI_Irecv(receive.bytes.data() + at, count, MPI_BYTE, receive.peer, raw_tag, communicator_,
                            &requests.emplace_back()),
                  "MPI_Irecv");
        expected.push_back(count);
      });
    for (const Send& send : sends)
      parts(send.bytes.size(), [&](std::size_t at, int count) {
        if (alone)
          return check_mpi(MPI_Send(send.bytes.data() + at, count, MPI_BYTE, send.peer, raw_tag, communicator_), "MPI_Send");
        check_mpi(MPI_Isend(send.bytes.data() + at, count, MPI_BYTE, send.peer, raw_tag, communicator_,
                            &requests.emplace_back()),
                  "MPI_Isend");
      });
    if (alone) return;
    std::vector<MPI_Status> statuses(requests.size());
    check_mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data()), "MPI_Waitall");
    for (std::size_t i = 0; i < expected.size(); ++i) expect(statuses[i], expected[i]);
  }

  // Every rank posts message `number` of all its peers before it waits for one of `number + 1`, receives first: so
  // none waits for what another has yet to post.
  void run(Stream& stream) override {
    if (stream.window <= 1 || stream.bytes > largest_part_bytes) return RawLink::run(stream);
    const std::size_t window = static_cast<std::size_t>(stream.window), bytes = stream.bytes;
    std::vector<MPI_Request> receives(window * stream.from.size(), MPI_REQUEST_NULL), sends(window * stream.to.size(), MPI_REQUEST_NULL);
    const auto received = [&](MPI_Request& request) {
      if (request == MPI_REQUEST_NULL) return;
      MPI_Status status;
      check_mpi(MPI_Wait(&request, &status), "MPI_Wait");
      expect(status, static_cast<int>(bytes));
    };
    for (int number = 0; number < stream.count; ++number) {
      const std::size_t slot = static_cast<std::size_t>(number) % window;
      for (std::size_t peer = 0; peer < stream.from.size(); ++peer) {
        MPI_Request& request = receives[slot * stream.from.size() + peer];
        received(request);
        check_mpi(MPI_Irecv(stream.room(peer, number).data(), static_cast<int>(bytes), MPI_BYTE, stream.from[peer], raw_tag,
                            communicator_, &request),
                  "MPI_Irecv");
      }
      for (std::size_t peer = 0; peer < stream.to.size(); ++peer) {
        MPI_Request& request = sends[slot * stream.to.size() + peer];
        check_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
        check_mpi(MPI_Isend(stream.out.data(), static_cast<int>(bytes), MPI_BYTE, stream.to[peer], raw_tag, communicator_, &request),
                  "MPI_Isend");
      }
    }
    for (MPI_Request& request : receives) received(request);
    check_mpi(MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  }

 private:
  static void expect(const MPI_Status& status, int count) {
    int found = 0;
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &found), "MPI_Get_count");
    if (found != count)
      throw Error(ErrorCode::transport, "rank " + std::to_string(status.MPI_SOURCE),
                  "sent " + std::to_string(found) + " bytes where " + std::to_string(count) + " were expected");
  }

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
};

}  // namespace

std::unique_ptr<RawLink> make_raw_mpi() { return std::make_unique<RawMpi>(); }

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) return "unknown MPI";
  const std::string line(text, static_cast<std::size_t>(length));
  return line.substr(0, line.find_first_of(",\n"));
}

// Components that were opened and then passed over take their variables away again, so those whose variables are
// left are the ones in use (Open MPI); other libraries have no variables of these names.
std::string mpi_components() {
  int provided = 0, count = 0;
  if (MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) return "unknown";
  std::set<std::string> found;
  MPI_T_cvar_get_num(&count);
  for (int i = 0; i < count; ++i) {
    char name[256] = "";
    int length = sizeof name, verbosity = 0, no_description = 0, bind = 0, scope = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (MPI_T_cvar_get_info(i, name, &length, &verbosity, &type, nullptr, nullptr, &no_description, &bind, &scope) != MPI_SUCCESS)
      continue;
    for (const char* framework : {"pml_", "btl_"}) {
      if (std::strncmp(name, framework, 4) != 0) continue;
      const std::string rest = name + 4;
      const std::string component = rest.substr(0, rest.find('_'));
      if (!component.empty() && component != "base") found.insert(std::string(framework, 3) + " " + component);
    }
  }
  MPI_T_finalize();
  std::string text;
  for (const std::string& item : found) text += (text.empty() ? "" : ", ") + item;
  return text.empty() ? "unknown" : text;
}

}  // namespace lynxkv::comm
