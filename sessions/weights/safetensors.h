// Reads tensors out of safetensors files: one file, or several with an index (numerics:
// architectures and weights). Files are mapped, not read: a tensor's bytes come when it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/numeric/hybrid_model.h"

namespace hybridscope {

// A read-only mapping of a whole file.
class MappedFile {
 public:
  // Error io: it cannot be opened or mapped; corrupt: it is empty.
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  MappedFile(std::string path, std::span<const std::byte> bytes);
  std::string path_;
  std::span<const std::byte> bytes_;
};

enum class TensorDtype : std::uint8_t { f32, bf16, f16, other };

struct StoredTensor {
  std::string file = {};
  std::string dtype_name = {};  // as the file has it
  TensorDtype dtype = TensorDtype::other;
  std::vector<std::int64_t> shape = {};
  std::span<const std::byte> bytes = {};

  std::int64_t num_elements() const;
};

class Safetensors {
 public:
  // The tensors of `folder`/model.safetensors, or of the files that
  // `folder`/model.safetensors.index.json names. Errors, before any tensor is used: no such file;
  // a header that is not one; offsets that overlap, leave gaps or pass the file's end; a tensor
  // whose bytes are not those of its shape and dtype; a name that two files have; one that is in
  // another file than the index says.
  static Result<Safetensors> open(const std::string& folder);

  // The tensor of this name; null: there is none.
  const StoredTensor* find(const std::string& name) const;
  const std::map<std::string, StoredTensor>& tensors() const { return tensors_; }
  // The folder's file, or the index.
  const std::string& file() const { return file_; }

 private:
  Status add_file(const std::string& path);

  std::string file_;
  std::vector<MappedFile> files_;
  std::map<std::string, StoredTensor> tensors_;
};

// Float32 values of a tensor of dtype F32, BF16 or F16, exactly. Errors, with file and name:
// another dtype; a NaN or an infinity among the values.
Result<std::vector<float>> tensor_values(const std::string& name, const StoredTensor& tensor);

// "[4, 16]".
std::string shape_words(const std::vector<std::int64_t>& shape);

// Hands out a model's tensors by name and checks each; what nobody took is an error at the end.
// Only for load_model.cpp.

class TensorTaker {
 public:
  // Values go to `model`, which keeps them. Both must outlive it.
  TensorTaker(const Safetensors& stored, HybridModel& model) : stored_(stored), model_(model) {}

  // The values of a tensor of this shape; after an error, zeros.
  std::span<const float> take(const std::string& name, const std::vector<std::int64_t>& shape);
  // weight [outputs, inputs] and, if it has one, bias [outputs] of NAME.weight and NAME.bias.
  struct LinearShape {
    std::int32_t outputs = 0;
    std::int32_t inputs = 0;
    bool bias = false;
  };
  Linear linear(const std::string& name, const LinearShape& shape);
  // A tensor [rows, inputs], made of the rows of another one in the order that `rows` gives.
  std::span<const float> rows_of(std::span<const float> tensor, std::int32_t inputs,
                                 const std::vector<std::int32_t>& rows);
  // Tensors whose names begin so are none of the language model's.
  void ignore(std::string prefix) { ignored_.push_back(std::move(prefix)); }
  void ignore_if_there(const std::string& name) { taken_.insert(name); }

  // The first error, or the first tensor that was not taken.
  std::optional<Error> error() const;

 private:
  std::span<const float> keep(std::vector<float> values);
  void fail(Error error);
  bool is_ignored(const std::string& name) const;

  const Safetensors& stored_;
  HybridModel& model_;
  std::set<std::string> taken_;
  std::vector<std::string> ignored_;
  std::optional<Error> error_;
};

}  // namespace hybridscope
