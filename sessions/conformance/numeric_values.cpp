#include "sessions/conformance/numeric_values.h"
#include "sessions/conformance/vector_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>

namespace hybridscope {
namespace {

// -1: no digit of base64.
int digit_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

std::vector<std::uint8_t> bytes_of_base64(const JsonValue& value) {
  const std::string text = value.string();
  std::size_t length = text.size();
  while (length > 0 && text.size() - length < 2 && text[length - 1] == '=') --length;
  if (text.size() % 4 != 0) value.fail("expected base64, found a length that is not of 4s");
  std::vector<std::uint8_t> bytes;
  bytes.reserve(length * 3 / 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text.substr(0, length)) {
    const int digit = digit_of(c);
    if (digit < 0) value.fail(fmt::format("expected base64, found \"{}\"", c));
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<std::uint8_t>(bits >> count));
  }
  return bytes;
}

std::int64_t product(std::span<const std::int32_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::vector<std::int32_t> read_shape(const JsonValue& value) {
  const JsonValue field = value["shape"];
  std::vector<std::int32_t> shape = field.int32s();
  if (shape.empty()) field.fail("expected at least one dimension");
  std::int64_t elements = 1;
  for (const std::int32_t size : shape) {
    if (size < 0) field.fail(fmt::format("expected sizes from 0 on, found {}", size));
    elements *= std::max(size, 1);
    if (elements > kMaxVectorElements)
      field.fail(fmt::format("expected at most {} elements", kMaxVectorElements));
  }
  return shape;
}

}  // namespace

std::vector<float> read_floats(const JsonValue& base64, std::int64_t length) {
  const std::vector<std::uint8_t> bytes = bytes_of_base64(base64);
  if (bytes.size() % 4 != 0) base64.fail("expected whole floats of 4 bytes");
  const auto found = static_cast<std::int64_t>(bytes.size() / 4);
  if (length >= 0 && found != length)
    base64.fail(fmt::format("expected {} floats, found {}", length, found));
  std::vector<float> floats;
  floats.reserve(static_cast<std::size_t>(found));
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    std::uint32_t word = 0;
    for (std::size_t byte = 4; byte-- > 0;) word = word << 8 | bytes[i + byte];
    floats.push_back(std::bit_cast<float>(word));
  }
  return floats;
}

NumericTensor read_numeric_tensor(const JsonValue& value) {
  NumericTensor tensor{.shape = read_shape(value), .data = {}};
  tensor.data = read_floats(value["f32"], product(tensor.shape));
  return tensor;
}

NumericTensor read_numeric_tensor(const JsonValue& value, std::size_t dimensions) {
  NumericTensor tensor = read_numeric_tensor(value);
  if (tensor.shape.size() != dimensions)
    value["shape"].fail(
        fmt::format("expected {} dimensions, found {}", dimensions, tensor.shape.size()));
  return tensor;
}

NumericTensor read_optional_tensor(const JsonValue& value) {
  return value.is_null() ? NumericTensor() : read_numeric_tensor(value);
}

std::int64_t NumericPool::block_elements() const {
  return product(std::span<const std::int32_t>(shape).subspan(1));
}

NumericPool read_numeric_pool(const JsonValue& value) {
  NumericPool pool{.shape = read_shape(value), .data = {}};
  const std::int64_t elements = pool.block_elements();
  if (elements < 1) value["shape"].fail("expected a block of at least one element");
  pool.data.assign(static_cast<std::size_t>(product(pool.shape)),
                   std::numeric_limits<float>::quiet_NaN());
  for (const auto& [name, content] : value["blocks"].members()) {
    std::int32_t block = -1;
    const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), block);
    if (code != std::errc() || end != name.data() + name.size() || block < 0 ||
        block >= pool.shape.front())
      content.fail(fmt::format("expected a block from 0 to {}", pool.shape.front() - 1));
    std::ranges::copy(read_floats(content, elements), pool.data.begin() + block * elements);
  }
  return pool;
}

NumericPool read_numeric_pool(const JsonValue& value, const std::vector<std::int32_t>& block) {
  NumericPool pool = read_numeric_pool(value);
  const std::vector<std::int32_t> found(pool.shape.begin() + 1, pool.shape.end());
  if (found != block)
    value["shape"].fail(fmt::format("expected blocks of [{}], found [{}]", fmt::join(block, ", "),
                                    fmt::join(found, ", ")));
  return pool;
}

}  // namespace hybridscope
