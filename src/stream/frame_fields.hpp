// What a frame's header has to say, given the transfer and the tensor: the sender fills it in from here, and the
// receiver compares with the same. Neither side infers anything from sizes.
#pragma once

#include <string>

#include "codec/codec.hpp"
#include "page/wire.hpp"
#include "stream/transfer.hpp"

namespace lynxkv::stream {

// One page tensor of a transfer. Pages are full but for the last one.
struct TensorId {
  int layer = 0;
  page::Kind kind = page::Kind::key;
  int page = 0;
  friend bool operator==(const TensorId&, const TensorId&) = default;
};

int page_count(const Transfer& transfer) noexcept;
int tensor_count(const Transfer& transfer) noexcept;
// 0 .. tensor_count - 1, page by page.
std::size_t index_of(const Transfer& transfer, const TensorId& tensor) noexcept;
TensorId tensor_at(const Transfer& transfer, std::size_t index) noexcept;
codec::TensorShape shape_of(const Transfer& transfer, const TensorId& tensor) noexcept;

// All fields that the announcement settles; sequence, attempt, flags, payload and fragment are left at zero.
page::WireHeader settled_header(const Transfer& transfer, const TensorId& tensor, codec::StreamId stream);
// The first settled field in which `found` differs, as "field: announced x, found y"; empty where none does.
// Request and generation are not compared: they select the transfer.
std::string difference(const page::WireHeader& announced, const page::WireHeader& found);

// "rank 1, request 7, layer 3, K, page 2, stream residual".
std::string place(int peer, std::uint64_t request, const TensorId& tensor, codec::StreamId stream);

}  // namespace lynxkv::stream
