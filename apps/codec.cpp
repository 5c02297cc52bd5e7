// lynxkv codec encode|decode: one page tensor through a codec, files in the layout of tests/data/codec.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "apps/command.hpp"
#include "apps/command_line.hpp"
#include "apps/gpu.hpp"
#include "apps/lynx_options.hpp"
#include "apps/option_checks.hpp"
#include "base/nearest.hpp"
#include "codec/codec.hpp"
#include "codec/on_cuda.hpp"
#include "codec/shape.hpp"
#include "kernels/runtime.hpp"
#include "results/posix_file.hpp"

namespace lynxkv::apps {
namespace {

namespace fs = std::filesystem;

struct Request {
  std::string codec = "lynx", backend = "cpu", level = "full", kind = "k";
  LynxArguments lynx{"plain", {}, {}};
  int tokens = 0, channels = 0, head_dim = 0, position = 0, tokens_behind = 0;
  bool exact = false, raw = false;
  std::string input, output;
};

constexpr const char* encode_example =
    "lynxkv codec encode --codec lynx --tokens 256 --channels 192 tests/data/codec/real_l0_k_p0.kv.bin page";
constexpr const char* decode_example =
    "lynxkv codec decode --codec lynx --tokens 256 --channels 192 --level draft page rows.bin";

constexpr std::array<const char*, codec::max_streams> suffixes{".anchor.bin", ".residual.bin", ".exact.bin"};

template <std::size_t N>
std::size_t choice(const char* option, const std::string& given, const std::array<std::string_view, N>& names) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == given) return i;
  throw Error(ErrorCode::usage, option, unknown_name("value", given, names));
}

std::unique_ptr<codec::Codec> codec_of(Request& request) {
  const bool on_cuda = choice<2>("--backend", request.backend, {"cpu", "cuda"}) == 1;
  // The third stream is a codec of its own: the same two payloads, and one more.
  if (request.codec == "lynx" && (request.exact || request.level == "exact")) request.codec = "lynx-exact";
  if (request.exact && request.codec != "lynx-exact")
    throw Error(ErrorCode::usage, "--exact", "codec " + request.codec + " has no exact stream; use --codec lynx");
  const codec::CodecOptions options = lynx_options(request.lynx);
  kernels::ensure_runtime();
  if (!on_cuda) return as_option("--codec", [&] { return codec::make_codec(request.codec, options); });
  auto codec = as_option("--codec", [&] { return codec::make_codec_on_cuda(request.codec, options); });
  if (!codec) throw Error(ErrorCode::usage, "--backend cuda", "codec " + request.codec + " has no CUDA kernels; use --backend cpu");
  need_gpu("--backend cuda");
  return codec;
}

codec::TensorShape shape_of(const Request& request) {
  codec::TensorShape shape;
  shape.tokens = request.tokens;
  shape.channels = request.channels;
  shape.head_dim = request.head_dim > 0 ? request.head_dim : request.channels;
  shape.first_position = request.position;
  shape.tokens_behind = request.tokens_behind;
  shape.kind = choice<2>("--kind", request.kind, {"k", "v"}) == 0 ? page::Kind::key : page::Kind::value;
  const auto refuse = [](const char* option, const std::string& text) { throw Error(ErrorCode::usage, option, text); };
  if (shape.tokens < 1 || shape.tokens > 256)
    refuse("--tokens", "expected 1 to 256, the tokens of one page; found " + std::to_string(shape.tokens));
  if (shape.channels < 2 || shape.channels % 2 != 0 || shape.channels > 1 << 20)
    refuse("--channels", "expected an even number from 2 to 1048576, found " + std::to_string(shape.channels));
  if (request.head_dim < 0 || shape.channels % shape.head_dim != 0)
    refuse("--head-dim", "expected a divisor of " + std::to_string(shape.channels) + " channels, found " +
                             std::to_string(request.head_dim));
  return shape;
}

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in || !fs::is_regular_file(path)) throw Error(ErrorCode::bad_data, path, "cannot be opened for reading");
  std::vector<std::byte> bytes(static_cast<std::size_t>(in.tellg()));
  in.seekg(0);
  if (!in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())))
    throw Error(ErrorCode::bad_data, path, "could not be read to its end");
  return bytes;
}

// All streams or none: payloads of two pages side by side would decode to neither.
void write_streams(const Request& request, const codec::Codec& codec, const codec::Encoded& out) {
  std::vector<std::string> written;
  try {
    for (const codec::StreamSpec& stream : codec.streams()) {
      const auto index = static_cast<std::size_t>(stream.id);
      const std::string path = request.output + suffixes[index];
      results::replace_file(path, out.payload[index]);
      written.push_back(path);
      std::printf("%s  %zu bytes%s\n", path.c_str(), out.payload[index].size(), out.raw && index == 0 ? ", raw" : "");
    }
  } catch (const Error&) {
    std::error_code ignored;
    for (const std::string& path : written)
      if (fs::is_regular_file(path, ignored)) fs::remove(path, ignored);
    throw;
  }
}

int encode(Request& request) {
  const auto codec = codec_of(request);
  const codec::TensorShape shape = shape_of(request);
  const std::vector<std::byte> bytes = read_file(request.input);
  const std::size_t expected = static_cast<std::size_t>(shape.tokens) * static_cast<std::size_t>(shape.channels) * 2;
  if (bytes.size() != expected)
    throw Error(ErrorCode::bad_data, request.input,
                "expected " + std::to_string(expected) + " bytes (" + std::to_string(shape.tokens) + " tokens x " +
                    std::to_string(shape.channels) + " channels x 2), found " + std::to_string(bytes.size()));
  std::vector<Bf16> rows(bytes.size() / 2);
  std::memcpy(rows.data(), bytes.data(), bytes.size());
  codec::Encoded out;
  if (const auto done = codec->encode(rows.data(), shape, out); !done)
    throw Error(done.error().code(), request.input, done.error().what());
  write_streams(request, *codec, out);
  return 0;
}

// On the wire the header says whether a page is raw. Files have no header, so the sizes have to tell: a raw page
// has an anchor of 2 bytes a value and nothing after it. Where both readings fit, it is coded unless --raw is given.
bool is_raw(const Request& request, const codec::Codec& codec, const codec::TensorShape& shape, const codec::Payloads& in) {
  if (request.raw) return true;
  const std::size_t found = in.payload[0].size();
  if (found != codec.payload_bytes(codec::StreamId::anchor, shape, true)) return false;
  if (found != codec.payload_bytes(codec::StreamId::anchor, shape, false)) return true;
  const bool two_streams = codec.streams().size() > 1;
  return two_streams && request.level != "draft" && in.payload[1].empty() &&
         codec.payload_bytes(codec::StreamId::residual, shape, false) != 0;
}

// "draft or full"
std::string levels_of(const codec::Codec& codec) {
  std::vector<std::string> names;
  for (const codec::StreamSpec& stream : codec.streams()) {
    const std::string name(codec::name_of(stream.enables));
    if (stream.enables != codec::Level::none && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::string text = names[0];
  for (std::size_t i = 1; i < names.size(); ++i) text += (i + 1 < names.size() ? ", " : " or ") + names[i];
  return text;
}

int decode(Request& request) {
  const auto codec = codec_of(request);
  const codec::TensorShape shape = shape_of(request);
  const std::size_t chosen = choice<3>("--level", request.level, {"draft", "full", "exact"});
  const auto level = std::array{codec::Level::draft, codec::Level::target, codec::Level::exact}[chosen];
  const auto streams = codec->streams();
  if (std::none_of(streams.begin(), streams.end(), [&](const auto& stream) { return stream.enables == level; }))
    throw Error(ErrorCode::usage, "--level " + request.level, "codec " + request.codec + " decodes to " + levels_of(*codec));
  std::array<std::vector<std::byte>, codec::max_streams> bytes;
  codec::Payloads in;
  for (const codec::StreamSpec& stream : streams) {  // up to the first that is enough
    const auto index = static_cast<std::size_t>(stream.id);
    bytes[index] = read_file(request.input + suffixes[index]);
    in.payload[index] = bytes[index];
    if (stream.enables == level) break;
  }
  in.raw = is_raw(request, *codec, shape, in);
  std::vector<Bf16> rows(static_cast<std::size_t>(shape.tokens) * static_cast<std::size_t>(shape.channels));
  if (const auto done = codec->decode(level, in, shape, rows.data()); !done)
    throw Error(done.error().code(), request.input, done.error().what());
  results::replace_file(request.output, std::as_bytes(std::span(rows)));
  std::printf("%s  %zu bytes\n", request.output.c_str(), rows.size() * 2);
  return 0;
}

void add_shared(CLI::App& app, Request& request) {
  app.add_option("--codec", request.codec, "A transfer mode: lynx, int8, ...")->capture_default_str();
  app.add_option("--tokens", request.tokens, "Rows of the page tensor, 1 to 256")->required();
  app.add_option("--channels", request.channels, "Values a row: KV heads x head dimension")->required();
  app.add_option("--head-dim", request.head_dim, "Values a head (int8, int4; default: one head)");
  app.add_option("--preset", request.lynx.preset, "Options of lynx to start from: plain, default (of runs), paper")
      ->capture_default_str();
  const auto flag = [&](const char* name, const char* help) {
    app.add_option_function<std::string>(
        std::string("--") + name, [&request, name](const std::string& value) { request.lynx.named.emplace_back(name, value); },
        help);
  };
  flag("sinks", "First tokens that travel raw (lynx; plain: 4)");
  flag("alpha", "Companding, 0.001 to 1000 (lynx; plain: 0.05)");
  flag("centre", "mid or mean (lynx; plain: mid)");
  flag("sigma", "log or linear (lynx; plain: log)");
  flag("levels", "112 or 120 (lynx; plain: 112)");
  flag("fit", "extremes or least_error: how a chunk's scalars are chosen (lynx; plain: extremes)");
  app.add_option("--set", request.lynx.set, "More options of lynx, as early_channels_k=16,early_tokens_k=12")->allow_extra_args(false);
  app.add_option("--kind", request.kind, "k or v: some options differ between them")->capture_default_str();
  app.add_option("--position", request.position, "Of the first row in its sequence; sinks are at 0")
      ->check(at_least(0))->capture_default_str();
  app.add_option("--tokens-behind", request.tokens_behind, "Of the sequence after this page: early_tokens_* counts from its end")
      ->check(at_least(0))->capture_default_str();
  app.add_option("--backend", request.backend, "cpu or cuda; cuda takes the GPU or, without one, its emulation on the CPU")
      ->capture_default_str();
}

Run set_up(CLI::App& app) {
  app.require_subcommand(1);
  auto to_code = std::make_shared<Request>(), to_rows = std::make_shared<Request>();
  CLI::App* encoder = app.add_subcommand("encode", "bf16 rows to payload files");
  encoder->footer("Example:\n  " + as_called(encode_example));
  add_shared(*encoder, *to_code);
  encoder->add_flag("--exact", to_code->exact, "Also write the stream that restores the bf16 bits");
  // Not an option of encode, but one that people try; its nearest name would mislead them.
  const CLI::Option* level = encoder->add_option("--level", to_code->level, "")->group("");
  encoder->add_option("input", to_code->input, "bf16[tokens][channels], little-endian")->required();
  encoder->add_option("prefix", to_code->output, "Writes PREFIX.anchor.bin and what else the codec has")->required();
  CLI::App* decoder = app.add_subcommand("decode", "payload files to bf16 rows");
  decoder->footer("Example, behind that of encode:\n  " + as_called(decode_example));
  add_shared(*decoder, *to_rows);
  decoder->add_option("--level", to_rows->level, "draft, full or exact")->capture_default_str();
  decoder->add_flag("--raw", to_rows->raw, "The page travelled raw (encode says so)");
  decoder->add_option("prefix", to_rows->input, "Reads PREFIX.anchor.bin and what else the level needs")->required();
  decoder->add_option("output", to_rows->output, "bf16[tokens][channels], little-endian")->required();
  return [=] {
    if (!encoder->parsed()) return decode(*to_rows);
    if (level->count() > 0)
      throw Error(ErrorCode::usage, "--level", "encode writes all streams of the codec; give --exact for the exact stream, and --level to decode");
    return encode(*to_code);
  };
}

}  // namespace

extern const Command codec_command;
const Command codec_command = {
    "codec", "One page tensor through a codec, from file to file; --backend cpu or cuda",
    "lynxkv codec encode --codec lynx --tokens 256 --channels 192 tests/data/codec/real_l0_k_p0.kv.bin page\n"
    "  lynxkv codec decode --codec lynx --tokens 256 --channels 192 --level draft page rows.bin\n"
    "  lynxkv codec encode --backend cuda --exact --tokens 256 --channels 192 tests/data/codec/real_l0_k_p0.kv.bin page",
    set_up};

}  // namespace lynxkv::apps
