// A model on disk: a .gguf file, or a folder with config.json and *.safetensors. Opened read-only and
// memory-mapped; every count, offset and dimension in it is checked before use.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lynxkv::model {

// Rotary embedding over pairs (x[i], x[i + rotary_dim/2]).
struct RopeConfig {
  float theta = 10000.0f;
  int rotary_dim = 0;                    // channels of a head that rotate; head_dim for the llama family
  std::vector<float> frequency_factors;  // empty, or [rotary_dim/2]: each frequency is divided by its factor
};

struct ModelConfig {
  std::string family;  // "llama"
  std::string name;    // what the file calls itself; for people
  int layers = 0;
  int hidden = 0;
  int intermediate = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int vocab = 0;
  int context_tokens = 0;  // the longest sequence that the model was made for
  float rms_epsilon = 1e-5f;
  bool tied_embeddings = false;  // lm_head is the embedding
  RopeConfig rope;
};

// Which weight. `layer` counts for those inside a layer.
enum class Weight {
  embedding,       // [vocab][hidden]
  attention_norm,  // [hidden]
  query,           // [heads * head_dim][hidden]
  key,             // [kv_heads * head_dim][hidden]
  value,           // [kv_heads * head_dim][hidden]
  output,          // [hidden][heads * head_dim]
  mlp_norm,        // [hidden]
  gate,            // [intermediate][hidden]
  up,              // [intermediate][hidden]
  down,            // [hidden][intermediate]
  final_norm,      // [hidden]
  lm_head,         // [vocab][hidden]; absent where the embeddings are tied
};

// Weights as float32, row-major, in the order of the published checkpoints (rotary pairs as halves: the row
// permutation that GGUF `llama` files apply to Q and K is undone here).
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // Reads rows [first_row, first_row + rows) into out. Shapes were checked against the config when opened.
  virtual void read_rows(Weight weight, int layer, int first_row, int rows, float* out) const = 0;
};

class Tokenizer;
class ChatTemplate;

struct ModelFile {
  std::string path;
  ModelConfig config;
  std::unique_ptr<WeightSource> weights;
  // Null where the file has none, or one that we do not support: then the problem says so in one line.
  std::unique_ptr<Tokenizer> tokenizer;
  std::string tokenizer_problem;
  std::unique_ptr<ChatTemplate> chat_template;
  std::string chat_template_problem;
  std::uint64_t content_hash = 0;  // identity for the settings hash: header, config, tensor table and size

  ModelFile();
  ModelFile(ModelFile&&) noexcept;
  ModelFile& operator=(ModelFile&&) noexcept;
  ~ModelFile();
};

// Throws Error{bad_data}: one line, naming the file, what was expected and what was found.
ModelFile open_model(const std::string& path);

// Rows and columns of a weight by the config.
struct WeightShape {
  int rows;
  int columns;  // 1 for norms' vectors: shape [rows]
};
WeightShape shape_of(const ModelConfig& config, Weight weight) noexcept;

}  // namespace lynxkv::model
