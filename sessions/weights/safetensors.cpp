#include "sessions/weights/safetensors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/text/json_reader.h"

namespace hybridscope {
namespace {

constexpr std::size_t kLengthBytes = 8;  // of the header's length, little-endian

Error corrupt(std::string message) { return {ErrorKind::corrupt, std::move(message)}; }

struct DtypeRow {
  const char* name;
  TensorDtype dtype;
  std::int64_t bytes;
};
// All dtypes of the format, so that a file's lengths can be checked whatever it holds.
constexpr DtypeRow kDtypes[] = {
    {"F32", TensorDtype::f32, 4},      {"BF16", TensorDtype::bf16, 2},
    {"F16", TensorDtype::f16, 2},      {"F64", TensorDtype::other, 8},
    {"I64", TensorDtype::other, 8},    {"U64", TensorDtype::other, 8},
    {"I32", TensorDtype::other, 4},    {"U32", TensorDtype::other, 4},
    {"I16", TensorDtype::other, 2},    {"U16", TensorDtype::other, 2},
    {"I8", TensorDtype::other, 1},     {"U8", TensorDtype::other, 1},
    {"BOOL", TensorDtype::other, 1},   {"F8_E4M3", TensorDtype::other, 1},
    {"F8_E5M2", TensorDtype::other, 1}};

const DtypeRow* find_dtype(const std::string& name) {
  const auto found =
      std::ranges::find_if(kDtypes, [&](const DtypeRow& row) { return name == row.name; });
  return found == std::end(kDtypes) ? nullptr : found;
}

// A whole number of the header that fits a file's length.
bool read_number(const nlohmann::json& value, std::int64_t& number) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > (std::uint64_t{1} << 62))
    return false;
  number = value.get<std::int64_t>();
  return number >= 0;
}

// Elements of a shape; -1: more than a file can hold.
std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape)
    if (__builtin_mul_overflow(count, size, &count)) return -1;
  return count;
}

// One file's header: its JSON, and where its data begin.
struct Header {
  nlohmann::json json;
  std::size_t data = 0;
};

Result<Header> read_header(const MappedFile& file) {
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes.size() < kLengthBytes)
    return corrupt(
        fmt::format("{}: has {} bytes, expected a safetensors file, which begins with the length "
                    "of its header in 8 bytes",
                    file.path(), bytes.size()));
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    length |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
  if (length > bytes.size() - kLengthBytes)
    return corrupt(
        fmt::format("{}: its header has {} bytes, expected at most the {} that follow in the file: "
                    "truncated, or no safetensors file",
                    file.path(), length, bytes.size() - kLengthBytes));
  const auto text = bytes.subspan(kLengthBytes, static_cast<std::size_t>(length));
  auto json = parse_json(
      {.text = {reinterpret_cast<const char*>(text.data()), text.size()}, .file = file.path()});
  if (!json) return json.error();
  if (!json.value().is_object())
    return corrupt(file.path() + ": header: expected an object of tensors");
  return Header{std::move(json).value(), kLengthBytes + static_cast<std::size_t>(length)};
}

// A tensor's entry {dtype, shape, data_offsets} against the `size` bytes of the file's data.
Result<StoredTensor> read_entry(const std::string& place, const nlohmann::json& entry,
                                std::span<const std::byte> data) {
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() ||
      !entry.contains("shape") || !entry["shape"].is_array() || !entry.contains("data_offsets") ||
      !entry["data_offsets"].is_array() || entry["data_offsets"].size() != 2)
    return corrupt(place + ": expected {\"dtype\", \"shape\", \"data_offsets\": [begin, end]}");
  StoredTensor tensor{.dtype_name = entry["dtype"].get<std::string>()};
  const DtypeRow* dtype = find_dtype(tensor.dtype_name);
  if (dtype == nullptr)
    return corrupt(fmt::format("{}: unknown dtype \"{}\"", place, tensor.dtype_name));
  tensor.dtype = dtype->dtype;
  for (const nlohmann::json& size : entry["shape"]) {
    std::int64_t number = 0;
    if (!read_number(size, number))
      return corrupt(
          fmt::format("{}: shape has {}, expected whole numbers from 0", place, size.dump()));
    tensor.shape.push_back(number);
  }
  std::int64_t begin = 0;
  std::int64_t end = 0;
  if (!read_number(entry["data_offsets"][0], begin) ||
      !read_number(entry["data_offsets"][1], end) || begin > end ||
      end > static_cast<std::int64_t>(data.size()))
    return corrupt(
        fmt::format("{}: data_offsets {}, expected ascending offsets into the {} bytes behind the "
                    "header: truncated?",
                    place, entry["data_offsets"].dump(), data.size()));
  const std::int64_t elements = elements_of(tensor.shape);
  if (elements < 0 || elements > (std::int64_t{1} << 60) || elements * dtype->bytes != end - begin)
    return corrupt(fmt::format("{}: {} bytes for shape {} of dtype {}", place, end - begin,
                               shape_words(tensor.shape), tensor.dtype_name));
  tensor.bytes =
      data.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  return tensor;
}

// Tensors fill the data without gaps and do not overlap.
Status check_coverage(const std::string& path, std::span<const std::byte> data,
                      std::vector<std::pair<const std::byte*, std::string>>& starts,
                      const std::map<std::string, StoredTensor>& tensors) {
  std::ranges::sort(starts);
  const std::byte* next = data.data();
  for (const auto& [start, name] : starts) {
    if (start != next)
      return corrupt(
          fmt::format("{}: tensor \"{}\" begins at byte {} of the data, expected {}: tensors "
                      "overlap or leave a gap",
                      path, name, start - data.data(), next - data.data()));
    next = start + tensors.at(name).bytes.size();
  }
  if (next != data.data() + data.size())
    return corrupt(
        fmt::format("{}: {} bytes behind the last tensor", path, data.data() + data.size() - next));
  return Ok{};
}

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1FU;
  const std::uint32_t fraction = half & 0x3FFU;
  if (exponent == 0)  // zero, or fraction * 2^-24
    return std::bit_cast<float>(
        std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1p-24F) | sign);
  const std::uint32_t widened = exponent == 0x1F ? 0xFFU : exponent + 112;
  return std::bit_cast<float>(sign | (widened << 23) | (fraction << 13));
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  if (Status file = check_no_directory(path); !file.ok()) return file.error();
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return Error{ErrorKind::io, path + ": cannot be opened: " + std::strerror(errno)};
  struct stat status {};
  const bool known = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  const auto size = known ? static_cast<std::size_t>(status.st_size) : 0;
  void* data = size > 0 ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0) : MAP_FAILED;
  const int reason = errno;
  ::close(descriptor);
  if (!known) return Error{ErrorKind::io, path + ": is no regular file, which can be mapped"};
  if (size == 0) return corrupt(path + ": is empty");
  if (data == MAP_FAILED)
    return Error{ErrorKind::io, path + ": cannot be mapped: " + std::strerror(reason)};
  return MappedFile(path, {static_cast<const std::byte*>(data), size});
}

MappedFile::MappedFile(std::string path, std::span<const std::byte> bytes)
    : path_(std::move(path)), bytes_(bytes) {}
MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}
MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  return *this;
}
MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

std::int64_t StoredTensor::num_elements() const { return elements_of(shape); }

std::string shape_words(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Status Safetensors::add_file(const std::string& path) {
  auto mapped = MappedFile::open(path);
  if (!mapped) return mapped.error();
  files_.push_back(std::move(mapped).value());
  const MappedFile& file = files_.back();
  auto header = read_header(file);
  if (!header) return header.error();
  const std::span<const std::byte> data = file.bytes().subspan(header.value().data);
  std::vector<std::pair<const std::byte*, std::string>> starts;
  for (const auto& [name, entry] : header.value().json.items()) {
    if (name == "__metadata__") continue;
    const std::string place = path + ": tensor \"" + name + "\"";
    auto tensor = read_entry(place, entry, data);
    if (!tensor) return tensor.error();
    tensor.value().file = path;
    if (!tensor.value().bytes.empty()) starts.emplace_back(tensor.value().bytes.data(), name);
    const auto [other, added] = tensors_.emplace(name, std::move(tensor).value());
    if (!added) return corrupt(place + ": is in " + other->second.file + " too");
  }
  return check_coverage(path, data, starts, tensors_);
}

Result<Safetensors> Safetensors::open(const std::string& folder) {
  const std::filesystem::path base(folder);
  const std::string single = (base / "model.safetensors").string();
  const std::string index = (base / "model.safetensors.index.json").string();
  Safetensors opened;
  std::error_code code;
  if (std::filesystem::exists(single, code) || !std::filesystem::exists(index, code)) {
    opened.file_ = single;
    if (Status added = opened.add_file(single); !added) return added.error();
    return opened;
  }
  opened.file_ = index;
  const auto text = read_text_file(index);
  if (!text) return text.error();
  const auto json = parse_json({.text = text.value(), .file = index});
  if (!json) return json.error();
  if (!json.value().is_object() || !json.value().contains("weight_map") ||
      !json.value()["weight_map"].is_object())
    return corrupt(index + ": expected an object with \"weight_map\": {tensor: file}");
  const nlohmann::json& map = json.value()["weight_map"];
  std::set<std::string> files;
  for (const auto& [name, file] : map.items()) {
    const std::string file_name = file.is_string() ? file.get<std::string>() : std::string();
    if (file_name.empty() || std::filesystem::path(file_name).filename() != file_name)
      return corrupt(fmt::format(
          "{}: /weight_map/{}: found {}, expected the name of a file in the same folder", index,
          name, file.dump()));
    files.insert(file_name);
  }
  for (const std::string& file : files)
    if (Status added = opened.add_file((base / file).string()); !added) return added.error();
  for (const auto& [name, file] : map.items()) {
    const StoredTensor* tensor = opened.find(name);
    const std::string path = (base / file.get<std::string>()).string();
    if (tensor == nullptr || tensor->file != path)
      return corrupt(fmt::format("{}: tensor \"{}\" is missing, expected in {}",
                                 tensor == nullptr ? path : index, name, path));
  }
  return opened;
}

const StoredTensor* Safetensors::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

Result<std::vector<float>> tensor_values(const std::string& name, const StoredTensor& tensor) {
  const std::string place = tensor.file + ": tensor \"" + name + "\"";
  if (tensor.dtype == TensorDtype::other)
    return invalid_input(
        fmt::format("{}: dtype {}, expected F32, BF16 or F16", place, tensor.dtype_name));
  std::vector<float> values(static_cast<std::size_t>(tensor.num_elements()));
  const std::byte* bytes = tensor.bytes.data();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (tensor.dtype == TensorDtype::f32) {
      std::memcpy(&values[i], bytes + 4 * i, 4);
    } else {
      std::uint16_t half = 0;
      std::memcpy(&half, bytes + 2 * i, 2);
      values[i] = tensor.dtype == TensorDtype::bf16
                      ? std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16)
                      : half_to_float(half);
    }
    if (!std::isfinite(values[i]))
      return invalid_input(
          fmt::format("{}: element {} is {}, expected finite values", place, i, values[i]));
  }
  return values;
}

void TensorTaker::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

std::span<const float> TensorTaker::keep(std::vector<float> values) {
  model_.tensors.push_back(std::move(values));
  return model_.tensors.back();
}

std::span<const float> TensorTaker::take(const std::string& name,
                                         const std::vector<std::int64_t>& shape) {
  taken_.insert(name);
  const StoredTensor* tensor = stored_.find(name);
  if (error_) return keep({});
  if (tensor == nullptr) {
    fail(invalid_input(fmt::format("{}: tensor \"{}\" is missing, expected one of shape {}",
                                   stored_.file(), name, shape_words(shape))));
    return keep({});
  }
  if (tensor->shape != shape) {
    fail(invalid_input(fmt::format("{}: tensor \"{}\" has shape {}, expected {}", tensor->file,
                                   name, shape_words(tensor->shape), shape_words(shape))));
    return keep({});
  }
  auto values = tensor_values(name, *tensor);
  if (!values) {
    fail(values.error());
    return keep({});
  }
  return keep(std::move(values).value());
}

Linear TensorTaker::linear(const std::string& name, const LinearShape& shape) {
  Linear linear{.weight = take(name + ".weight", {shape.outputs, shape.inputs}),
                .outputs = shape.outputs};
  if (shape.bias) linear.bias = take(name + ".bias", {shape.outputs});
  return linear;
}

std::span<const float> TensorTaker::rows_of(std::span<const float> tensor, std::int32_t inputs,
                                            const std::vector<std::int32_t>& rows) {
  std::vector<float> values;
  const auto width = static_cast<std::size_t>(inputs);
  if (error_) return keep({});
  for (const std::int32_t row : rows) {
    const auto from = tensor.subspan(static_cast<std::size_t>(row) * width, width);
    values.insert(values.end(), from.begin(), from.end());
  }
  return keep(std::move(values));
}

bool TensorTaker::is_ignored(const std::string& name) const {
  return std::ranges::any_of(ignored_,
                             [&](const std::string& prefix) { return name.starts_with(prefix); });
}

std::optional<Error> TensorTaker::error() const {
  if (error_) return error_;
  for (const auto& [name, tensor] : stored_.tensors())
    if (!taken_.contains(name) && !is_ignored(name))
      return invalid_input(fmt::format("{}: tensor \"{}\" of shape {} is none of the model's",
                                       tensor.file, name, shape_words(tensor.shape)));
  return std::nullopt;
}

}  // namespace hybridscope
