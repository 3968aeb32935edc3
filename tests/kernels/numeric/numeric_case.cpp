#include "tests/kernels/numeric/numeric_case.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iomanip>
#include <limits>
#include <numeric>
#include <sstream>

namespace hybridscope::test {
namespace {

template <class T>
std::string hexadecimal(T bits) {
  std::ostringstream text;
  text << std::hex << std::setfill('0') << std::setw(2 * sizeof(T)) << std::uint64_t{bits};
  return text.str();
}

template <class T>
testing::AssertionResult differ_at(std::size_t index, std::size_t size, T expected, T got) {
  return testing::AssertionFailure() << "element " << index << " of " << size << ": expected bits "
                                     << hexadecimal(expected) << ", got " << hexadecimal(got);
}

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

}  // namespace

std::vector<float> NumericDraw::floats(std::int64_t count, float scale) {
  std::normal_distribution<float> normal(0.0F, scale);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random_);
  if (!has_special_numbers_ || !chance(0.125)) return values;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (float& value : values)
    if (chance(0.003))
      value = one_of<float>({0.0F, -0.0F, 1e-41F, -3e-39F, 3e38F, -1e30F, kInfinity, -kInfinity});
  return values;
}

std::vector<float> random_pool(NumericDraw& draw, std::int32_t num_blocks,
                               std::int64_t block_elements) {
  std::vector<float> pool = draw.floats(num_blocks * block_elements);
  std::fill_n(pool.begin(), block_elements, std::numeric_limits<float>::quiet_NaN());
  return pool;
}

testing::AssertionResult same_bits(std::span<const float> expected, std::span<const float> got) {
  if (expected.size() != got.size())
    return testing::AssertionFailure() << expected.size() << " and " << got.size() << " elements";
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (bits_of(expected[i]) != bits_of(got[i]) && !(std::isnan(expected[i]) && std::isnan(got[i])))
      return differ_at(i, got.size(), bits_of(expected[i]), bits_of(got[i]));
  return testing::AssertionSuccess();
}

testing::AssertionResult same_bits(std::span<const std::uint16_t> expected,
                                   std::span<const std::uint16_t> got) {
  if (expected.size() != got.size())
    return testing::AssertionFailure() << expected.size() << " and " << got.size() << " elements";
  const auto is_nan = [](std::uint16_t bits) { return (bits & 0x7FFF) > 0x7F80; };
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (expected[i] != got[i] && !(is_nan(expected[i]) && is_nan(got[i])))
      return differ_at(i, got.size(), expected[i], got[i]);
  return testing::AssertionSuccess();
}

void expect_same_outcome(const std::vector<float>& pool, std::int64_t num_outputs,
                         const NumericCall& host, const NumericCall& device) {
  const auto size = static_cast<std::size_t>(num_outputs);
  NumericOutcome expected{.pool = pool, .y = std::vector<float>(size)};
  NumericOutcome got{.pool = pool,
                     .y = std::vector<float>(size, std::numeric_limits<float>::quiet_NaN())};
  ASSERT_TRUE(host(expected).ok());
  const Status status = device(got);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_TRUE(same_bits(expected.y, got.y)) << "of outputs";
  EXPECT_TRUE(same_bits(expected.pool, got.pool)) << "of blocks";
}

void for_each_numeric_case(int usual, const std::function<void(NumericDraw&)>& body) {
  const std::uint64_t seed = SeededDraw().seed();
  for (int i = 0; i < num_cases(usual); ++i) {
    const std::uint64_t seed_of_case = seed + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("HYBRIDSCOPE_CASES=1 HYBRIDSCOPE_SEED=" + std::to_string(seed_of_case));
    NumericDraw draw(seed_of_case);
    body(draw);
    if (testing::Test::HasFailure()) return;
  }
}

namespace {

constexpr double kPadding = 0.15;  // of rows and of columns

// `count` of the blocks from 1 on, in random order, some of them no block; and the number of blocks
// of their pool.
std::vector<std::int32_t> random_blocks(NumericDraw& draw, std::int32_t count,
                                        std::int32_t& num_blocks) {
  num_blocks = count + 1 + draw.number(0, 3);
  std::vector<std::int32_t> blocks(static_cast<std::size_t>(num_blocks - 1));
  std::iota(blocks.begin(), blocks.end(), 1);
  std::ranges::shuffle(blocks, draw.random());
  blocks.resize(static_cast<std::size_t>(count));
  for (std::int32_t& block : blocks)
    if (draw.chance(kPadding)) block = draw.chance(0.5) ? 0 : -1;
  return blocks;
}

}  // namespace

RandomDecodeRows::RandomDecodeRows(NumericDraw& draw, DecodeKind kind, const MostRows& at_most) {
  const std::int32_t num_rows = draw.number(1, at_most.rows);
  const bool has_counts = kind == DecodeKind::spec || kind == DecodeKind::all_spec;
  const bool mode_all = kind == DecodeKind::all || kind == DecodeKind::all_spec;
  if (has_counts) num_drafts_ = draw.number(0, 3);
  columns_ = 1 + num_drafts_ + (mode_all ? 3 : 0);
  table_ = random_blocks(draw, num_rows * columns_, num_blocks_);
  const bool has_starts = has_counts || draw.chance(0.5);
  if (has_starts) starts_ = {0};
  for (std::int32_t row = 0; row < num_rows; ++row) {
    const std::int32_t most = has_counts ? 1 + num_drafts_ : at_most.tokens;
    if (has_starts)
      starts_.push_back(starts_.back() + (draw.chance(kPadding) ? 0 : draw.number(1, most)));
    // Some pass the table's columns and the end of a conv window.
    if (has_counts)
      accepted_.push_back(draw.number(draw.chance(0.1) ? 0 : 1, draw.chance(0.1) ? 9 : most));
    if (!mode_all) continue;
    source_.push_back(draw.number(0, 2));
    destination_.push_back(source_.back() + draw.number(0, 1));
  }
  num_tokens_ = (has_starts ? starts_.back() : num_rows) + draw.number(0, 2);
}

DecodeRows RandomDecodeRows::rows() const {
  const auto num_rows = static_cast<std::int32_t>(table_.size()) / columns_;
  return {.state_indices = matrix_view(table_.data(), num_rows, columns_),
          .query_start_loc = starts_,
          .num_accepted_tokens = accepted_,
          .source_column = source_,
          .destination_column = destination_};
}

RandomPrefillRows::RandomPrefillRows(NumericDraw& draw, bool mode_all, std::int32_t longest) {
  const std::int32_t num_rows = draw.number(1, 5);
  if (mode_all) block_size_ = draw.number(1, longest * 9 / 70);
  columns_ = mode_all ? 8 : 1;
  table_ = random_blocks(draw, num_rows * columns_, num_blocks_);
  starts_ = {0};
  for (std::int32_t row = 0; row < num_rows; ++row) {
    const std::int32_t most = mode_all ? 4 * block_size_ : draw.chance(0.2) ? longest : 9;
    const std::int32_t tokens = draw.chance(kPadding) ? 0 : draw.number(1, most);
    starts_.push_back(starts_.back() + tokens);
    has_initial_states_.push_back(draw.chance(0.6) ? 1 : 0);
    const std::int32_t checkpoint = draw.chance(0.5) ? draw.number(0, tokens) : 0;
    checkpoint_offsets_.push_back(checkpoint);
    if (!mode_all) continue;
    const std::int32_t computed = has_initial_states_.back() ? draw.number(1, 4 * block_size_) : 0;
    computed_.push_back(computed);
    last_computed_.push_back(std::max(computed - 1, 0) / block_size_);
    first_.push_back(std::min(computed / block_size_, columns_ - 1));
    last_.push_back(std::max(computed + tokens - 1, 0) / block_size_);
    if (draw.chance(0.1)) first_.back() -= draw.number(1, 9);  // columns that do not exist
    if (draw.chance(0.1)) last_.back() += draw.number(1, 9);
  }
  if (mode_all || draw.chance(0.5))
    checkpoint_offsets_.clear();
  else  // blocks of their own, behind those of the table
    for (std::int32_t row = 0; row < num_rows; ++row)
      checkpoint_blocks_.push_back(draw.chance(kPadding) ? 0 : num_blocks_++);
  num_tokens_ = starts_.back() + draw.number(0, 2);
}

PrefillRows RandomPrefillRows::rows() const {
  const auto num_rows = static_cast<std::int32_t>(table_.size()) / columns_;
  return {.query_start_loc = starts_,
          .has_initial_states = has_initial_states_,
          .state_indices = columns_ == 1 ? vector_view(table_.data(), num_rows)
                                         : matrix_view(table_.data(), num_rows, columns_),
          .block_idx_first_scheduled_token = first_,
          .block_idx_last_scheduled_token = last_,
          .block_idx_last_computed_token = last_computed_,
          .num_computed_tokens = computed_,
          .mamba_block_size = block_size_,
          .checkpoint_offsets = checkpoint_offsets_,
          .checkpoint_blocks = checkpoint_blocks_};
}

RandomAttentionRows::RandomAttentionRows(NumericDraw& draw, std::int32_t block_size) {
  const std::int32_t num_rows = draw.number(1, 5);
  columns_ = draw.number(1, 1 + 300 / block_size);
  table_ = random_blocks(draw, num_rows * columns_, num_blocks_);
  starts_ = {0};
  const std::int32_t most = columns_ * block_size;
  for (std::int32_t row = 0; row < num_rows; ++row) {
    const std::int32_t tokens = std::min(draw.chance(0.3) ? 1 : draw.number(0, 12), most);
    starts_.push_back(starts_.back() + tokens);
    seq_lens_.push_back(draw.chance(kPadding) ? 0 : draw.number(std::max(tokens, 1), most));
  }
  num_tokens_ = starts_.back() + draw.number(0, 2);
}

AttentionRows RandomAttentionRows::rows() const {
  const auto num_rows = static_cast<std::int32_t>(seq_lens_.size());
  return {.query_start_loc = starts_,
          .seq_lens = seq_lens_,
          .block_table = matrix_view(table_.data(), num_rows, columns_)};
}

}  // namespace hybridscope::test
