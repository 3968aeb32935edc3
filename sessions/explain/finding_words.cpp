#include "sessions/explain/explain_finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/result.h"

namespace hybridscope::finding_words {
namespace {

bool is_conv(const Finding& f) { return f.content == ContentKind::conv; }
bool is_equal(const Finding& f) { return f.seen == f.expected; }
bool is_recurrent(const Finding& f) {
  return f.content == ContentKind::conv || f.content == ContentKind::temporal;
}
// Sessions do not keep the element.
bool names_an_element(const Finding& f) { return f.layer >= 0; }

// Within a rule the most specific phrase comes first; the last phrase of each rule fits everything
// else.
constexpr Phrase kPhrases[] = {
    {Rule::running_state_wrong, "has_initial_states says there is none", nullptr,
     "the row starts from zeros although {expected_tokens} are computed: {detail}"},
    {Rule::running_state_wrong, "conv history", [](const Finding& f) { return is_equal(f); },
     "the conv window read from {block} ends with {seen_token}, but does not hold the tokens "
     "before it"},
    {Rule::running_state_wrong, "conv history", nullptr,
     "the conv window read from {block} ends with {seen_token}, expected {expected}"},
    {Rule::running_state_wrong, "", is_equal,
     "{block} holds the state of {written}, as many as expected but not the same ones"},
    {Rule::running_state_wrong, "", nullptr,
     "{block} holds the state of {written}, expected {expected}"},

    {Rule::label_mismatch, "registered for other tokens", nullptr,
     "{block} is registered as the end of a prefix of {seen_tokens}, but its column ends with "
     "token {expected}"},
    {Rule::label_mismatch, "registered for a column", nullptr,
     "{block} is registered for a column that holds {expected_block}"},
    {Rule::label_mismatch, "registered in no column", nullptr, "{block}: {detail}"},
    {Rule::label_mismatch, "not filled to its end", nullptr,
     "{block} is registered as the end of a prefix of {expected_tokens}, but keys and values are "
     "there only up to {written}"},
    {Rule::label_mismatch, "", [](const Finding& f) { return is_conv(f) && is_equal(f); },
     "{block} is registered as the end of a prefix of {expected_tokens}, but its conv window holds "
     "other tokens, although it ends with {seen_token}"},
    {Rule::label_mismatch, "", is_conv,
     "{block} is registered as the end of a prefix of {expected_tokens}, but its conv window ends "
     "with {seen_token}"},
    {Rule::label_mismatch, "", is_equal,
     "{block} is registered as the end of a prefix of {expected_tokens}, but holds another one of "
     "{written}"},
    {Rule::label_mismatch, "", nullptr,
     "{block} is registered as the end of a prefix of {expected_tokens}, but holds {written}"},

    {Rule::read_of_unwritten_block, "never written", nullptr,
     "{block} is read but was {detail}; expected the state of {expected_tokens}"},
    {Rule::read_of_unwritten_block, "read of a freed block", nullptr,
     "{block} is read although no request holds it"},
    {Rule::read_of_unwritten_block, "conv positions", nullptr,
     "{block} is read at {detail}; expected the window that ends with token {expected}"},
    {Rule::read_of_unwritten_block, "",
     [](const Finding& f) { return f.block <= kNullBlock && f.expected >= 0; },
     "{detail}; expected the state of {expected_tokens}"},
    {Rule::read_of_unwritten_block, "", [](const Finding& f) { return f.block <= kNullBlock; },
     "{detail}"},
    {Rule::read_of_unwritten_block, "", nullptr, "{block}: {detail}"},

    {Rule::foreign_write, "the request's block table",
     [](const Finding& f) { return is_recurrent(f) && f.expected >= 0; },
     "write of a {state_kind} into {block}, but this column of the request's block table holds "
     "{expected_block}"},
    {Rule::foreign_write, "",
     [](const Finding& f) { return f.block > kNullBlock && is_recurrent(f); },
     "write of a {state_kind} into {block}: {detail}"},
    {Rule::foreign_write, "", [](const Finding& f) { return f.block > kNullBlock; },
     "write into {block}: {detail}"},
    {Rule::foreign_write, "", nullptr, "{detail}"},

    {Rule::reference_count, "given out while", nullptr,
     "{block} is given out although {seen_request} holds it"},
    {Rule::reference_count, "given out with", nullptr,
     "{block} is given out with reference count {seen}, expected {expected}"},
    {Rule::reference_count, "the count does not follow", nullptr,
     "{block} has reference count {seen} now, expected {expected} after the one before"},
    {Rule::reference_count, "", [](const Finding& f) { return f.block < 0; }, "{seen} {detail}"},
    {Rule::reference_count, "", nullptr,
     "{block} has reference count {seen}, but block tables hold it {expected} times"},

    {Rule::copy_out_of_range, "", nullptr,
     "the copy to {block} shifts the conv window by {seen}, at most {expected} is possible"},
    {Rule::conflicting_copies, "positions of one window", nullptr, "{block}: {detail}"},
    {Rule::conflicting_copies, "", nullptr, "{block}: {detail} in the same launch"},

    {Rule::padded_row_not_null, "a padding row", nullptr,
     "{detail}: {seen} rows run, {expected} have a request"},
    {Rule::padded_row_not_null, "a row of a dummy run", nullptr,
     "{detail} names {block} where the null block belongs"},
    {Rule::padded_row_not_null, "", [](const Finding& f) { return f.block == kNullBlock; },
     "a padding row runs on the null block"},
    {Rule::padded_row_not_null, "", [](const Finding& f) { return f.block >= 0; },
     "a padding row names {block} where the null block belongs"},
    {Rule::padded_row_not_null, "", nullptr,
     "a padding row has {detail} {seen}, expected {expected}"},

    {Rule::stale_persistent_array, "", [](const Finding& f) { return f.seen <= 0; },
     "{detail}, nor by one before it: only the capture wrote them"},
    {Rule::stale_persistent_array, "", nullptr, "{detail} but by that of step {seen}"},
    {Rule::metadata_inconsistent, "", [](const Finding& f) { return f.expected < 0 && f.seen < 0; },
     "{detail}"},
    {Rule::metadata_inconsistent, "num_scheduled_tokens",
     [](const Finding& f) { return f.row >= 0; },
     "{detail} is {seen}, but the metadata has a row of {expected_tokens}"},
    {Rule::metadata_inconsistent, "draft tokens behind", nullptr,
     "the step computes {expected_tokens} behind those that are known, and {seen} are scheduled as "
     "drafts"},
    {Rule::metadata_inconsistent, "", nullptr, "{detail}: {seen}, expected {expected}"},
    {Rule::hit_longer_than_group, "do not end", nullptr,
     "the request is admitted with {seen_tokens} computed, which {detail} (the last one before: "
     "{expected})"},
    {Rule::hit_longer_than_group, "", nullptr,
     "the hit needs keys and values up to token {expected}, they are there up to {seen}: {detail}"},

    // In sessions recorded before counts were compared, expected and seen are requests.
    {Rule::foreign_row_datum, "accepted count taken", nullptr,
     "the accepted count was taken from {seen_request}"},
    {Rule::foreign_row_datum, "slot of another", nullptr,
     "the row's slot is that of {seen_request}"},
    {Rule::foreign_row_datum, "accepted count outside", nullptr,
     "the accepted count is {seen}, expected 1..{expected}"},
    {Rule::foreign_row_datum, "accepted count of another", nullptr,
     "the accepted count is {seen}, the request's is {expected}"},
    {Rule::foreign_row_datum, "copy decision of another", nullptr,
     "the copy names {seen_request}, its blocks are those of {expected_request}"},
    {Rule::foreign_row_datum, "commit of another", nullptr, "the commit is that of {seen_request}"},
    {Rule::foreign_row_datum, "the row's request", nullptr,
     "the row names {seen_request}, scheduled is {expected_request}"},
    {Rule::foreign_row_datum, "state read from", [](const Finding& f) { return f.expected >= 0; },
     "{block} is read, but this column of the request's block table holds {expected_block}"},
    {Rule::foreign_row_datum, "state read from", nullptr,
     "{block} is read, but another request or group holds it"},
    {Rule::foreign_row_datum, "gates of", nullptr,
     "the gates are those of batch token {seen}, the row begins at batch token {expected}"},
    {Rule::foreign_row_datum, "gate stride", nullptr,
     "every token of the row but the first has the gates of other channels"},
    {Rule::foreign_row_datum, "", nullptr, "{detail}: {seen}, expected {expected}"},

    {Rule::rejected_draft_counted, "more tokens", nullptr,
     "{seen_tokens} were accepted, at most {expected} could be"},
    {Rule::rejected_draft_counted, "", nullptr, "{detail} are {seen}, expected {expected}"},

    {Rule::attention_slot_unwritten, "slots in the middle", nullptr,
     "{block} is filled up to slot {seen}, but the row goes on at slot {expected}"},
    {Rule::attention_slot_unwritten, "slots outside", nullptr, "{block}: {detail}"},
    {Rule::attention_slot_unwritten, "the slot is not", nullptr,
     "{block}: position {expected} is written to the slot of position {seen}"},
    {Rule::attention_slot_unwritten, "tokens of the row", nullptr,
     "{detail}: slots are given up to token {seen} of {expected}"},
    {Rule::attention_slot_unwritten, "", nullptr,
     "{block} has keys and values up to token {seen}, expected up to {expected}: {detail}"},

    {Rule::block_table_mismatch, "", nullptr,
     "the worker's block table has {seen_block}, the scheduler's {expected_block}"},
    {Rule::no_progress, "", [](const Finding& f) { return f.expected > 0; },
     "{expected} {detail}, and nothing is to come"},
    {Rule::no_progress, "", nullptr, "{seen} {detail}"},
    {Rule::state_bytes_wrong, "not written", names_an_element,
     "{block}: element {element} of state {state} of layer {layer} is {seen_bits}, expected "
     "{expected_bits}, and the step did not write there"},
    {Rule::state_bytes_wrong, "", names_an_element,
     "{block}: element {element} of state {state} of layer {layer} is {seen_bits}, expected "
     "{expected_bits}"},
    {Rule::state_bytes_wrong, "", nullptr,
     "{block}: an element of its state is {seen_bits}, expected {expected_bits}"},
    {Rule::state_differs, "read", nullptr,
     "{block}: the row reads a {state_kind} that a lone run does not have after {expected_tokens}: "
     "{seen} of its elements differ{in_layer}"},
    {Rule::state_differs, "", nullptr,
     "{block}: the row left a {state_kind} that a lone run does not have after {expected_tokens}: "
     "{seen} of its elements differ{in_layer}"},
    {Rule::logits_differ, "the token is the same", nullptr,
     "the row's logits are not those of a lone run, though both choose token {seen}"},
    {Rule::logits_differ, "", nullptr,
     "the row chooses token {seen}, a lone run with the same tokens {expected}"},
    {Rule::acceptance_differs, "", nullptr,
     "the logits accept {seen} tokens of the row, the engine counted {expected}"},
    {Rule::schedule_over_limit, "", nullptr, "{detail}: {seen}, at most {expected}"},
    {Rule::graph_not_captured, "uniform", nullptr,
     "{detail} is {seen}, but the graph has the rows of one with {expected}"},
    {Rule::graph_not_captured, "rows", nullptr, "{detail}: {seen}, captured with {expected}"},
    {Rule::graph_not_captured, "tokens of a graph too small", nullptr,
     "the graph of {seen_tokens} is too small for the {expected} of the step"},
    {Rule::graph_not_captured, "", nullptr, "no graph of {seen_tokens} was captured"},
    {Rule::published_not_written, "", nullptr,
     "{block} is registered as the end of a prefix of {expected_tokens} inside a prefill, but the "
     "step did not store its {state_kind}"},
    {Rule::state_changed, "", nullptr,
     "the {state_kind} in {block} changed {detail}, although nothing wrote there: hash "
     "{seen_bits}, expected {expected_bits}"},
    {Rule::copy_differs, "", nullptr,
     "the {state_kind} of {expected_block} was copied to {block}, which holds other bytes"},
    {Rule::write_missing, "", nullptr,
     "the forward pass should have written the state in {block}: its conv window has moved, but "
     "the state is that from before"},
    {Rule::chunk_off_grid, "", nullptr,
     "the chunk ends at token {seen}, off the block grid (last boundary: {expected})"},
    {Rule::state_unchanged, "", nullptr,
     "the forward pass should have written {block}, but its bytes are those from before; right "
     "only if the row repeats one token"},
    {Rule::drafts_cut, "placeholders", nullptr,
     "all {expected} drafts are ids of -1, because the request had no row in the step before"},
    {Rule::drafts_cut, "", nullptr, "{seen} of {expected} draft tokens were scheduled"},
    {Rule::expectation_unused, "", nullptr, "the scripted value {expected} was not used: {detail}"},
};

std::string block_words(std::int64_t block) {
  return block == kNullBlock   ? "the null block"
         : block == kPadSlotId ? "the pad id"
                               : fmt::format("block {}", block);
}

std::string request_words(std::int64_t request, const Names& names) {
  return request >= 0 ? names.request({static_cast<std::int32_t>(request)}) : "no request";
}

// " of A": the request whose tokens the last writer wrote.
std::string of_writer(const Finding& f, const Names& names) {
  return f.cause.request.value >= 0 ? " of " + names.request(f.cause.request) : "";
}

bool fits(const Phrase& phrase, const Finding& f) {
  return phrase.rule == f.rule && f.detail.starts_with(phrase.detail) &&
         (phrase.when == nullptr || phrase.when(f));
}

}  // namespace

std::span<const Phrase> phrases() { return kPhrases; }

std::string tokens(std::int64_t count) {
  return fmt::format("{} token{}", count, count == 1 ? "" : "s");
}

std::string fill(const Phrase& phrase, const Finding& f, const Names& names) {
  // Only some phrases show the numbers as names of requests.
  const bool names_requests = phrase.text.find("_request}") != std::string_view::npos;
  const auto request = [&](std::int64_t number) {
    return names_requests ? request_words(number, names) : std::string();
  };
  // Findings of sessions are without their layer.
  const std::string in_layer = f.layer < 0 ? std::string() : fmt::format(" in layer {}", f.layer);
  return fmt::format(
      fmt::runtime(phrase.text), fmt::arg("block", block_words(f.block)), fmt::arg("seen", f.seen),
      fmt::arg("expected", f.expected), fmt::arg("detail", f.detail),
      fmt::arg("written", tokens(f.seen) + of_writer(f, names)),
      fmt::arg("seen_token", fmt::format("token {}", f.seen) + of_writer(f, names)),
      fmt::arg("seen_tokens", tokens(f.seen)), fmt::arg("expected_tokens", tokens(f.expected)),
      fmt::arg("seen_request", request(f.seen)), fmt::arg("expected_request", request(f.expected)),
      fmt::arg("layer", f.layer), fmt::arg("in_layer", in_layer), fmt::arg("state", f.state),
      fmt::arg("state_kind", is_conv(f) ? "conv window" : "state"), fmt::arg("element", f.element),
      fmt::arg("seen_bits", fmt::format("{:#x}", f.seen)),
      fmt::arg("expected_bits", fmt::format("{:#x}", f.expected)),
      fmt::arg("seen_block", block_words(f.seen)),
      fmt::arg("expected_block", block_words(f.expected)));
}

std::string what(const Finding& f, const Names& names) {
  const auto phrase =
      std::ranges::find_if(phrases(), [&](const Phrase& candidate) { return fits(candidate, f); });
  HS_EXPECT(phrase != phrases().end());
  return fill(*phrase, f, names);
}

std::string cause(const Finding& finding) {
  const std::int32_t step = finding.cause.step;
  switch (finding.cause.kind) {
    case WriteKind::never: return {};
    case WriteKind::prefill: return fmt::format("written by the prefill of step {}", step);
    case WriteKind::decode: return fmt::format("written by the decode of step {}", step);
    case WriteKind::pre_copy: return fmt::format("written by the pre-copy of step {}", step);
    case WriteKind::post_copy: return fmt::format("written by the post-copy of step {}", step);
    case WriteKind::attention:
      return fmt::format("written by the attention layers of step {}", step);
    case WriteKind::block_copy: return fmt::format("copied with its block in step {}", step);
  }
  return {};
}

}  // namespace hybridscope::finding_words
