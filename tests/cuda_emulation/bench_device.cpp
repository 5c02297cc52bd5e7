// Speed of the codec kernels on a real GPU, beside its copy bandwidth. Not a test: prints a table, needs a device.
//   bench_cuda_device [pages] [channels]
// Bytes are those that have to move: input and output. Each figure is the best of several rounds of a long batch.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

#include "kernels/cuda/codec.hpp"
#include "kernels/cuda/devices.hpp"
#include "kernels/cuda/exact.hpp"
#include "tests/cuda_emulation/kernels/random_pages.hpp"

namespace lynxkv::kernels::cuda {
namespace {

double seconds_of(const Stream& stream, const std::function<void()>& enqueue) {
  constexpr int rounds = 7, launches = 20;
  double best = 1e30;
  for (int round = 0; round < rounds; ++round) {
    const auto from = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; ++i) enqueue();
    stream.synchronise();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count() / launches);
  }
  return best;
}

// The rows of all pages, their payloads behind one another at 256-byte steps.
class Bench {
 public:
  Bench(int pages, int channels) : layout_{256, channels, 0, 32}, count_(static_cast<std::size_t>(pages)) {
    std::mt19937 draw(1);
    const std::vector<Bf16> page = rig::drawn_page(rig::Kind::bell, layout_.tokens, channels, draw);
    for (std::size_t i = 0; i < count_; ++i) copy_to_device(rows_at(i), page.data(), layout_.raw_bytes(), stream_.get());
    stream_.synchronise();
    for (std::size_t i = 0; i < count_; ++i) {
      encoding_.push_back({rows_at(i), anchors_.data() + i * anchor_step_, residuals_.data() + i * residual_step_, layout_.tokens, 0});
      decoding_.push_back({encoding_[i].anchor, encoding_[i].residual, rows_at(i), layout_.tokens, 0});
      exact_encoding_.push_back({rows_at(i), encoding_[i].anchor, encoding_[i].residual, exacts_.data() + i * exact_step_, layout_.tokens, 0});
    }
  }

  void run() const {
    const LynxCoding coding = make_lynx_coding(0.05f, 112, LynxCentre::mid, LynxSigma::log);
    const LynxShape shape{layout_.channels, 32};
    auto* const outcomes = reinterpret_cast<std::uint32_t*>(outcomes_.data());
    const std::size_t raw = layout_.raw_bytes(), anchor = layout_.anchor_bytes(), residual = layout_.nibble_bytes();
    const double copy = report("copy", raw + raw, 0, [&] { copy_on_device(copies_.data(), rows_.data(), rows_.bytes(), stream_.get()); });
    report("encode", raw + anchor + residual, copy, [&] { lynx_encode(encoding_, shape, coding, outcomes, stream_.get()); });
    auto* const sizes = reinterpret_cast<std::uint32_t*>(sizes_.data());
    lynx_encode(encoding_, shape, coding, outcomes, stream_.get());
    exact_encode(exact_encoding_, shape, coding, sizes, outcomes, stream_.get());
    std::uint32_t exact = 0;
    copy_to_host(&exact, sizes, sizeof exact, stream_.get());  // every page is the same
    stream_.synchronise();
    std::vector<ExactDecodePage> exact_decoding;
    for (const ExactEncodePage& page : exact_encoding_)
      exact_decoding.push_back({page.anchor, page.residual, page.payload, const_cast<Bf16*>(page.rows), exact, page.tokens, 0});
    report("exact encode", raw + anchor + residual + exact, copy, [&] { exact_encode(exact_encoding_, shape, coding, sizes, outcomes, stream_.get()); });
    report("exact decode", raw + anchor + residual + exact, copy, [&] { exact_decode(exact_decoding, shape, coding, outcomes, stream_.get()); });
    report("draft decode", anchor + raw, copy, [&] { lynx_decode_draft(decoding_, shape, coding, outcomes, stream_.get()); });
    report("full decode", anchor + residual + raw, copy, [&] { lynx_decode_full(decoding_, shape, coding, outcomes, stream_.get()); });
  }

 private:
  static std::size_t padded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
  Bf16* rows_at(std::size_t page) const { return reinterpret_cast<Bf16*>(rows_.data() + page * layout_.raw_bytes()); }
  double report(const char* name, std::size_t page_bytes, double copy, const std::function<void()>& enqueue) const {
    const double rate = static_cast<double>(page_bytes * count_) / seconds_of(stream_, enqueue) / 1e9;
    std::printf("%-14s %8.1f GB/s", name, rate);
    if (copy > 0) std::printf("  %5.1f %% of copy", 100 * rate / copy);
    std::printf("\n");
    return rate;
  }

  LynxLayout layout_;
  std::size_t count_;
  std::size_t anchor_step_ = padded(layout_.anchor_bytes()), residual_step_ = padded(layout_.nibble_bytes()),
              exact_step_ = padded(exact_bound_bytes(layout_));
  Stream stream_;
  DeviceMemory rows_{count_ * layout_.raw_bytes()}, copies_{count_ * layout_.raw_bytes()}, anchors_{count_ * anchor_step_},
      residuals_{count_ * residual_step_}, exacts_{count_ * exact_step_}, outcomes_{count_ * 4}, sizes_{count_ * 4};
  std::vector<LynxEncodePage> encoding_;
  std::vector<LynxDecodePage> decoding_;
  std::vector<ExactEncodePage> exact_encoding_;
};

int run(int pages, int channels) {
  const DeviceList list = list_devices();
  if (list.devices.empty()) {
    std::fprintf(stderr, "bench_cuda_device: no GPU here: %s\n", list.note.c_str());
    return 77;
  }
  std::printf("# %s, %d pages of 256 tokens by %d channels, default preset\n", list.devices[0].name.c_str(), pages, channels);
  Bench(pages, channels).run();
  return 0;
}

}  // namespace
}  // namespace lynxkv::kernels::cuda

int main(int argc, char** argv) {
  const int pages = argc > 1 ? std::atoi(argv[1]) : 2048, channels = argc > 2 ? std::atoi(argv[2]) : 1024;
  if (pages < 1 || channels < 2 || channels % 2 != 0) {
    std::fprintf(stderr, "bench_cuda_device: expected pages and an even number of channels\n");
    return 2;
  }
  return lynxkv::kernels::cuda::run(pages, channels);
}
