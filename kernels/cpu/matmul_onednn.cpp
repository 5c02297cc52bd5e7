#include <omp.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "base/bf16.hpp"
#include "base/check.hpp"
#include "base/error.hpp"
#include "kernels/cpu/home_thread.hpp"
#include "kernels/cpu/matmul_body.hpp"
#include "kernels/runtime.hpp"

namespace lynxkv::kernels {
namespace {

using dnnl::memory;

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

[[noreturn]] void fail(const char* what, const dnnl::error& error) {
  throw Error(ErrorCode::usage, "oneDNN",
              std::string(what) + ": " + error.what() + "; choose a lower engine.isa");
}

// The blocked layout of packed weights, seen as the public description gives it.
struct Blocking {
  int blocks = 0;
  const memory::dim* sizes = nullptr;
  const memory::dim* dims = nullptr;     // which dimension each block cuts
  const memory::dim* strides = nullptr;  // between whole blocks, by dimension
};

// Elements by which a step along dimension `dim` to `position` moves in memory. Blocked layouts move
// independently along each dimension, so two small tables describe the whole matrix.
memory::dim offset_along(const Blocking& blocking, int dim, memory::dim position) {
  memory::dim offset = 0;
  memory::dim inner_stride = 1;
  for (int block = blocking.blocks; block-- > 0;) {
    const memory::dim size = blocking.sizes[block];
    if (blocking.dims[block] == dim) {
      offset += position % size * inner_stride;
      position /= size;
    }
    inner_stride *= size;
  }
  return offset + position * blocking.strides[dim];
}

// One kernel of one shape and height, with its memory descriptions ready: only pointers change between calls.
struct Kernel {
  dnnl::matmul primitive;
  memory x;
  memory y;
};

// All that the matrices of one shape share: the packed layout and the kernels by height.
class Shape {
 public:
  Shape(int outputs, int inputs, Element element) : outputs_(outputs), inputs_(inputs), element_(element) {
    const memory::desc any({inputs, outputs}, type(), memory::format_tag::any);
    packed_ = describe(matmul_heights.back(), any, false).weights_desc();
#if DNNL_VERSION_MAJOR >= 3
    const auto sizes = packed_.get_inner_blks(), dims = packed_.get_inner_idxs(),
               strides = packed_.get_strides();
    LYNXKV_CHECK(packed_.get_format_kind() == memory::format_kind::blocked);
    const Blocking blocking{packed_.get_inner_nblks(), sizes.data(), dims.data(), strides.data()};
#else
    LYNXKV_CHECK(packed_.data.format_kind == dnnl_blocked && packed_.data.offset0 == 0);
    const auto& raw = packed_.data.format_desc.blocking;
    const Blocking blocking{raw.inner_nblks, raw.inner_blks, raw.inner_idxs, raw.strides};
#endif
    for (int i = 0; i < inputs; ++i) input_offset_.push_back(offset_along(blocking, 0, i));
    for (int o = 0; o < outputs; ++o) output_offset_.push_back(offset_along(blocking, 1, o));
  }

  const memory::desc& packed() const {
    return packed_;
  }
  memory::dim offset(int output, int input) const {
    return output_offset_[static_cast<std::size_t>(output)] + input_offset_[static_cast<std::size_t>(input)];
  }

  Kernel& kernel(int height, bool add, int threads) {
    const auto key = std::make_tuple(height, add, threads);
    auto found = kernels_.find(key);
    if (found == kernels_.end()) {
      const auto primitive = describe(height, packed_, add);
      found = kernels_
                  .emplace(key, Kernel{dnnl::matmul(primitive), memory(x_desc(height), cpu_engine(), nullptr),
                                       memory(y_desc(height), cpu_engine(), nullptr)})
                  .first;
    }
    return found->second;
  }

 private:
  memory::data_type type() const {
    return element_ == Element::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
  }
  memory::desc x_desc(int rows) const {
    return {{rows, inputs_}, type(), memory::format_tag::ab};
  }
  memory::desc y_desc(int rows) const {
    return {{rows, outputs_}, memory::data_type::f32, memory::format_tag::ab};
  }

  dnnl::matmul::primitive_desc describe(int rows, const memory::desc& weights, bool add) const {
    dnnl::primitive_attr attributes;
    if (add) {
      dnnl::post_ops sum;
      sum.append_sum(1.0f);
      attributes.set_post_ops(sum);
    }
#if DNNL_VERSION_MAJOR >= 3
    return {cpu_engine(), x_desc(rows), weights, y_desc(rows), attributes};
#else
    return {{x_desc(rows), weights, y_desc(rows)}, attributes, cpu_engine()};
#endif
  }

  int outputs_;
  int inputs_;
  Element element_;
  memory::desc packed_;
  std::vector<memory::dim> input_offset_;
  std::vector<memory::dim> output_offset_;
  std::map<std::tuple<int, bool, int>, Kernel> kernels_;
};

std::shared_ptr<Shape> shape_for(int outputs, int inputs, Element element) {
  static std::mutex mutex;
  static std::map<std::tuple<int, int, Element>, std::weak_ptr<Shape>> shapes;
  const std::lock_guard lock(mutex);
  auto& known = shapes[std::make_tuple(outputs, inputs, element)];
  auto shape = known.lock();
  if (!shape) known = shape = std::make_shared<Shape>(outputs, inputs, element);
  return shape;
}

class OneDnnMatmul final : public MatmulBody {
 public:
  OneDnnMatmul(int outputs, int inputs, Element element, bool fixed_height)
      : outputs_(outputs), inputs_(inputs), element_(element), fixed_height_(fixed_height) {
    try {
      shape_ = shape_for(outputs, inputs, element);
      weights_ = memory(shape_->packed(), cpu_engine());
    } catch (const dnnl::error& error) {
      fail("no matrix product of this type on this CPU", error);
    }
    std::fill_n(static_cast<std::byte*>(weights_.get_data_handle()), weight_bytes(), std::byte{0});
  }

  std::size_t weight_bytes() const noexcept override { return shape_->packed().get_size(); }

  void pack_rows(int first_output, int count, const float* weights) override {
    if (element_ == Element::bf16) {
      pack<Bf16>(first_output, count, weights, [](float value) { return to_bf16(value); });
    } else {
      pack<float>(first_output, count, weights, [](float value) { return value; });
    }
  }

  void unpack_row(int output, float* out) const override {
    const void* data = weights_.get_data_handle();
    for (int input = 0; input < inputs_; ++input) {
      const memory::dim at = shape_->offset(output, input);
      out[input] = element_ == Element::bf16 ? to_float(static_cast<const Bf16*>(data)[at])
                                             : static_cast<const float*>(data)[at];
    }
  }

  void run(int rows, const void* x, float* y, bool add) const override {
    const int step = fixed_height_ ? amx_tile_rows : matmul_height(rows);
    const int threads = on_home_thread() ? runtime_threads() : 1;
    if (omp_get_max_threads() != threads) omp_set_num_threads(threads);
    try {
      Kernel& kernel = shape_->kernel(step, add, threads);
      static thread_local dnnl::stream stream(cpu_engine());
      for (int done = 0; done < rows; done += step) {
        const auto row = static_cast<std::size_t>(done);
        const auto* in =
            static_cast<const std::byte*>(x) + row * static_cast<std::size_t>(inputs_) * bytes_of(element_);
        kernel.x.set_data_handle(const_cast<std::byte*>(in));
        kernel.y.set_data_handle(y + row * static_cast<std::size_t>(outputs_));
        kernel.primitive.execute(
            stream, {{DNNL_ARG_SRC, kernel.x}, {DNNL_ARG_WEIGHTS, weights_}, {DNNL_ARG_DST, kernel.y}});
      }
      stream.wait();
    } catch (const dnnl::error& error) {
      fail("a matrix product failed", error);
    }
  }

 private:
  template <class Stored, class Round>
  void pack(int first_output, int count, const float* weights, Round round) {
    auto* data = static_cast<Stored*>(weights_.get_data_handle());
    for (int row = 0; row < count; ++row)
      for (int input = 0; input < inputs_; ++input)
        data[shape_->offset(first_output + row, input)] =
            round(weights[static_cast<std::size_t>(row) * static_cast<std::size_t>(inputs_) +
                          static_cast<std::size_t>(input)]);
  }

  int outputs_;
  int inputs_;
  Element element_;
  bool fixed_height_;
  std::shared_ptr<Shape> shape_;
  memory weights_;
};

}  // namespace

std::unique_ptr<MatmulBody> make_onednn_matmul(int outputs, int inputs, Element element, bool fixed_height) {
  return std::make_unique<OneDnnMatmul>(outputs, inputs, element, fixed_height);
}

}  // namespace lynxkv::kernels
