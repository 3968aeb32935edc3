// Reads tensors out of safetensors files: one file, or several with an index (numerics:
// architectures and weights). Files are mapped, not read: a tensor's bytes come when it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"

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

}  // namespace hybridscope
