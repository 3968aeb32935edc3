#include "sessions/conformance/numeric_ops.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>

#include "sessions/conformance/vector_states.h"

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

namespace {

// 0 <= ... <= num_tokens, ascending.
std::vector<std::int32_t> read_starts(const JsonValue& value, std::int32_t num_rows,
                                      std::int32_t num_tokens) {
  std::vector<std::int32_t> starts = value.int32s(num_rows + 1);
  if (starts.front() < 0 || starts.back() > num_tokens || !std::ranges::is_sorted(starts))
    value.fail(fmt::format("expected ascending tokens from 0 to {}", num_tokens));
  return starts;
}

VectorTable read_blocks(const JsonValue& value, std::int32_t num_blocks) {
  VectorTable table;
  if (value.size() > 0 && value[std::size_t{0}].is_array()) {
    table = read_table(value);
  } else {
    table.data = value.int32s();
    table.rows = static_cast<std::int32_t>(table.data.size());
    table.cols = 1;
  }
  for (const std::int32_t block : table.data)
    if (block >= num_blocks)
      value.fail(fmt::format("expected blocks below {}, found {}", num_blocks, block));
  return table;
}

// [rows] columns of the table; empty when absent.
std::vector<std::int32_t> read_columns(const JsonValue& input, std::string_view name,
                                       const VectorTable& table) {
  const auto value = input.find_non_null(name);
  if (!value) return {};
  std::vector<std::int32_t> columns = value->int32s(table.rows);
  for (const std::int32_t column : columns)
    if (column < 0 || column >= table.cols)
      value->fail(fmt::format("expected columns from 0 to {}, found {}", table.cols - 1, column));
  return columns;
}

std::vector<std::int32_t> read_counts_of_rows(const JsonValue& input, std::string_view name,
                                              std::int32_t num_rows) {
  const auto value = input.find_non_null(name);
  if (!value) return {};
  std::vector<std::int32_t> counts = value->int32s(num_rows);
  for (const std::int32_t count : counts)
    if (count < 0 || count > kMaxTokens)
      value->fail(fmt::format("expected counts from 0 to {}, found {}", kMaxTokens, count));
  return counts;
}

}  // namespace

NumericDecodeRows::NumericDecodeRows(const JsonValue& input, std::int32_t num_tokens,
                                     std::int32_t num_blocks)
    : state_indices_(read_blocks(input["state_indices_tensor_d"], num_blocks)),
      num_accepted_tokens_(read_counts_of_rows(input, "num_accepted_tokens", state_indices_.rows)),
      source_column_(read_columns(input, "source_column", state_indices_)),
      destination_column_(read_columns(input, "destination_column", state_indices_)) {
  if (const auto starts = input.find_non_null("query_start_loc_d"))
    query_start_loc_ = read_starts(*starts, state_indices_.rows, num_tokens);
  else if (state_indices_.rows > num_tokens)
    input["state_indices_tensor_d"].fail("expected at most one row a token");
  for (std::int32_t row = 0; row < state_indices_.rows; ++row) {
    const auto r = static_cast<std::size_t>(row);
    const DecodeRows view = rows();
    const std::int32_t source = source_column_.empty() ? 0 : source_column_[r];
    const std::int32_t target = destination_column_.empty() ? 0 : destination_column_[r];
    if (source + view.offset(row) >= state_indices_.cols ||
        target + view.tokens(row).size() > state_indices_.cols)
      input["state_indices_tensor_d"].fail(fmt::format("row {} needs more columns", row));
  }
}

DecodeRows NumericDecodeRows::rows() const {
  return {.state_indices = state_indices_.view(),
          .query_start_loc = query_start_loc_,
          .num_accepted_tokens = num_accepted_tokens_,
          .source_column = source_column_,
          .destination_column = destination_column_};
}

NumericPrefillRows::NumericPrefillRows(const JsonValue& input, std::int32_t num_tokens,
                                       std::int32_t num_blocks)
    : state_indices_(read_blocks(input["state_indices_tensor_p"], num_blocks)),
      query_start_loc_(read_starts(input["query_start_loc_p"], state_indices_.rows, num_tokens)),
      first_scheduled_(read_columns(input, "block_idx_first_scheduled_token_p", state_indices_)),
      last_scheduled_(read_columns(input, "block_idx_last_scheduled_token", state_indices_)),
      last_computed_(read_columns(input, "block_idx_last_computed_token", state_indices_)),
      num_computed_tokens_(
          read_counts_of_rows(input, "num_computed_tokens_p", state_indices_.rows)) {
  for (const std::int32_t flag : input["has_initial_states_p"].int32s(state_indices_.rows))
    has_initial_states_.push_back(flag != 0 ? 1 : 0);
  const auto size = input.find_non_null("mamba_block_size");
  if (!size) return;
  mamba_block_size_ = size->int32({1, kMaxVectorElements});
  for (const char* name : {"block_idx_first_scheduled_token_p", "block_idx_last_scheduled_token",
                           "block_idx_last_computed_token", "num_computed_tokens_p"})
    static_cast<void>(input[name]);
  for (std::int32_t row = 0; row < state_indices_.rows; ++row)
    for (const BoundaryState& boundary : boundary_states(rows(), row))
      if (boundary.num_tokens < 1 || boundary.num_tokens > rows().tokens(row).size())
        input["block_idx_last_scheduled_token"].fail(
            fmt::format("row {} has no token at one of its block boundaries", row));
}

PrefillRows NumericPrefillRows::rows() const {
  return {.query_start_loc = query_start_loc_,
          .has_initial_states = has_initial_states_,
          .state_indices = state_indices_.view(),
          .block_idx_first_scheduled_token = first_scheduled_,
          .block_idx_last_scheduled_token = last_scheduled_,
          .block_idx_last_computed_token = last_computed_,
          .num_computed_tokens = num_computed_tokens_,
          .mamba_block_size = mamba_block_size_};
}

NumericAttentionRows::NumericAttentionRows(const JsonValue& input, std::int32_t num_tokens,
                                           std::int32_t num_blocks, std::int32_t block_size)
    : block_table_(read_blocks(input["block_table_tensor"], num_blocks)),
      query_start_loc_(read_starts(input["query_start_loc"],
                                   static_cast<std::int32_t>(input["seq_lens"].size()),
                                   num_tokens)),
      seq_lens_(input["seq_lens"].int32s()) {
  if (block_table_.rows < static_cast<std::int32_t>(seq_lens_.size()))
    input["block_table_tensor"].fail("expected a row for each of seq_lens");
  for (std::size_t row = 0; row < seq_lens_.size(); ++row) {
    const std::int32_t tokens = query_start_loc_[row + 1] - query_start_loc_[row];
    if (seq_lens_[row] > 0 &&
        (seq_lens_[row] < tokens ||
         seq_lens_[row] > static_cast<std::int64_t>(block_table_.cols) * block_size))
      input["seq_lens"].fail(fmt::format("row {} does not fit its tokens or blocks", row));
  }
}

AttentionRows NumericAttentionRows::rows() const {
  return {.query_start_loc = query_start_loc_,
          .seq_lens = seq_lens_,
          .block_table = block_table_.view()};
}

}  // namespace hybridscope
