// Fidelity streams: one interface for every KV codec.
// A codec turns a page tensor into one or more ordered byte streams. Each stream says what a decoder may do
// once it has that stream and those before it: draft on it, take it for the truth, or restore BF16 bits.
// The engine's rule: draft while the level is below the target, verify at the target, commit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bf16.hpp"
#include "base/result.hpp"
#include "page/geometry.hpp"

namespace lynxkv::codec {

// What the pages hold so far. Ordered.
enum class Level : std::uint8_t { none = 0, draft = 1, target = 2, exact = 3 };

// Streams in the order in which they are sent. `residual` and `exact` travel with low priority.
enum class StreamId : std::uint8_t { anchor = 0, residual = 1, exact = 2 };
constexpr int max_streams = 3;

struct StreamSpec {
  StreamId id;
  Level enables;  // with all streams before it; Level::none where it enables nothing by itself
};

// One page tensor: `tokens` rows of `channels` bf16 values, token-major; heads of `head_dim` channels.
struct TensorShape {
  int tokens = 0;         // 1 .. 256
  int channels = 0;       // kv_heads * head_dim, even
  int head_dim = 0;
  int chunk_tokens = 32;
  int first_position = 0;  // of the first row in its sequence: page 0 holds the attention sinks
  // What the tensor is of its model; codecs that treat K and V or early and late layers apart read it.
  int layer = 0;
  int layers = 0;  // of the model; 0: unknown
  page::Kind kind = page::Kind::key;
  int tokens_behind = 0;  // of the sequence, after this page: 0 on the page of the newest token
};

// Options of the `lynx` family; other codecs ignore them. They are part of the settings hash. The defaults write the
// bytes of the plain format; codec/presets.hpp has what runs use.
enum class Centre : std::uint8_t { mid = 0, mean = 1 };
enum class Sigma : std::uint8_t { log = 0, linear = 1 };
// How a chunk's centre and scalar are chosen: from its extremes, or by least error of the draft among neighbours of
// those (kernels/codec_math.hpp). Decoding is the same.
enum class Fit : std::uint8_t { extremes = 0, least_error = 1 };
struct CodecOptions {
  float alpha = 0.05f;  // [0.001, 1000]
  int levels = 112;     // 112 or 120
  Centre centre = Centre::mid;
  Sigma sigma = Sigma::log;
  int sinks = 4;  // first tokens of a sequence that travel raw, 0 .. 255
  Fit fit = Fit::extremes;
  float alpha_v = 0;       // of V where it differs; 0: alpha
  int chunk_tokens_v = 0;  // of V where they differ: 0 (as K), or 1 .. 256
  // Residual codes that travel with the anchor (codec/early.hpp): of so many channels (an even number) of every page
  // tensor, and of so many newest tokens of the sequence.
  int early_channels_k = 0, early_channels_v = 0;
  int early_tokens_k = 0, early_tokens_v = 0;

  friend bool operator==(const CodecOptions&, const CodecOptions&) = default;
};

// The payloads of one page tensor, by stream; a stream that the codec lacks is empty.
// `raw` (lynx): the values' range overflows, so the anchor payload holds bf16[tokens][channels].
struct Encoded {
  std::array<std::vector<std::byte>, max_streams> payload;
  bool raw = false;
};

// Payloads at hand for decoding; streams past the wanted level are ignored and may be empty.
struct Payloads {
  std::array<std::span<const std::byte>, max_streams> payload;
  bool raw = false;
};

class Codec {
 public:
  virtual ~Codec() = default;

  virtual std::string_view name() const noexcept = 0;
  // 1 .. max_streams entries, in sending order; the last one enables at least Level::target.
  virtual std::span<const StreamSpec> streams() const noexcept = 0;
  // The level whose output is the truth of this codec.
  virtual Level target() const noexcept = 0;

  // The exact payload size of a stream for a tensor of this shape, where the codec has fixed sizes;
  // an upper bound otherwise. `raw` as in Encoded.
  virtual std::size_t payload_bytes(StreamId stream, const TensorShape& shape, bool raw) const noexcept = 0;

  // Encodes all streams. `out` is reused: its vectors keep their memory. A NaN or an infinity in `rows` is
  // Error{bad_data} whose text names token and channel (the caller adds request, layer and kind).
  virtual Result<void> encode(const Bf16* rows, const TensorShape& shape, Encoded& out) const = 0;

  // Decodes to `rows` at `level` (draft or target or exact, as far as the codec has it). Every size is
  // checked first; Error{bad_data} on a mismatch, and then `rows` is untouched.
  virtual Result<void> decode(Level level, const Payloads& in, const TensorShape& shape, Bf16* rows) const = 0;
};

// A mode of `transfer.modes`: a codec and how the engine uses it.
//   bf16 int8 int4 · lynx-int4 (anchor only) · lynx-int8 (both streams, blocking) · lynx (drafts on the anchor)
// Throws Error{usage} naming the nearest mode for a name that does not exist.
std::unique_ptr<Codec> make_codec(std::string_view mode, const CodecOptions& options);
std::span<const std::string_view> mode_names() noexcept;

}  // namespace lynxkv::codec
