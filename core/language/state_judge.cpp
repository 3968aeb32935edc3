#include "core/language/state_judge.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/numeric/hybrid_model.h"

namespace hybridscope {
namespace {

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

// Counts the elements that differ. False: none does.
bool compare(std::span<const float> truth, std::span<const float> seen, StateDifference& found) {
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (same_bits(truth[i], seen[i])) continue;
    if (found.num_elements++ == 0) found.first_element = static_cast<std::int64_t>(i);
    const double difference =
        std::abs(static_cast<double>(truth[i]) - static_cast<double>(seen[i]));
    found.largest = std::isnan(difference) ? std::numeric_limits<double>::infinity()
                                           : std::max(found.largest, difference);
  }
  return found.num_elements > 0;
}

}  // namespace

void StateJudge::keep(LanguageMachine& machine, const JudgedPlace& judged) {
  const RowState& place = judged.place;
  const LanguageLayout& layout = machine.layout();
  for (std::size_t i = 0; i < judged.truth.size(); ++i) {
    if (layout.group_of_layer[i] != judged.group) continue;
    const LayerStates& states = judged.truth[i];
    const bool is_conv = place.kind == StateKind::conv;
    const std::vector<float>& truth = is_conv ? states.conv : states.temporal;
    const auto count = static_cast<std::int64_t>(truth.size());
    const std::int64_t first =
        is_conv ? std::int64_t{place.first_position} * layout.conv_dim[i] : 0;
    // A window that passes the block's end is not compared.
    if (count == 0 || (is_conv && first + count > layout.blocks[i].conv)) continue;
    const auto layer = static_cast<std::int32_t>(i);
    kept_.push_back({machine.keep_state({layer, place.kind, place.block, first, count}),
                     &truth,
                     {.step = judged.step,
                      .request = judged.request,
                      .row = place.row,
                      .group = judged.group,
                      .layer = layer,
                      .kind = place.kind,
                      .is_read = place.num_tokens == 0,
                      .block = place.block,
                      .num_tokens = judged.num_tokens},
                     judged.writer});
  }
}

void StateJudge::append_differences(const LanguageMachine& machine,
                                    std::vector<StateDifference>& out,
                                    std::vector<WriteEvent>& writers) {
  for (Kept& kept : kept_) {
    if (!compare(*kept.truth, machine.kept(kept.number), kept.place)) continue;
    out.push_back(kept.place);
    writers.push_back(kept.writer);
  }
  kept_.clear();
}

namespace {

// How much logits of a whole model may differ in form chunked.
double tolerance_of(std::span<const float> logits) {
  double largest = 1;
  for (const float logit : logits)
    largest = std::max(largest, std::abs(static_cast<double>(logit)));
  return 1e-4 * largest;
}

}  // namespace

bool logits_agree(std::span<const float> logits, std::span<const float> twin_logits,
                  NumericForm form) {
  if (form == NumericForm::recurrent)
    return std::memcmp(logits.data(), twin_logits.data(), logits.size_bytes()) == 0;
  const double tolerance = tolerance_of(twin_logits);
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (!(std::abs(static_cast<double>(logits[i]) - static_cast<double>(twin_logits[i])) <=
          tolerance))
      return false;
  return true;
}

bool is_near_tie(std::span<const float> twin_logits) {
  return logit_margin(twin_logits) <= 2 * tolerance_of(twin_logits);
}

}  // namespace hybridscope
