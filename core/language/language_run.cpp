#include "core/language/language_run.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/caching/cache_events.h"
#include "core/numeric/hybrid_model.h"

namespace hybridscope {
namespace {

// Can the batch's rows be read?
bool has_rows(const StepTrace& trace) {
  return !trace.rows.empty() && trace.common.query_start_loc.size() > trace.rows.size() &&
         std::ranges::all_of(trace.rows, [&](const RowTrace& row) {
           return row.scheduled >= 0 &&
                  static_cast<std::size_t>(row.scheduled) < trace.scheduled.size();
         });
}

}  // namespace

// What is known of one request.
struct LanguageRun::Spoken {
  explicit Spoken(const HybridModel& model) : twin(model) {}
  std::vector<std::int32_t> ids;  // of its sequence: the prompt, then what it sampled
  TwinSequence twin;
  bool is_forced = false;  // a token was not the model's choice
};

// One row of a step.
struct LanguageRun::Row {
  std::size_t index = 0;  // of the batch
  Spoken* spoken = nullptr;
  std::int32_t first_token = 0;   // in the batch
  std::int32_t num_computed = 0;  // c
  std::int32_t num_tokens = 0;    // q
  std::int32_t num_drafts = 0;    // d, the last of q
  std::int32_t num_sampled = 0;   // a
  // More tokens are counted than there are: the row runs, and nothing of it is compared.
  bool counts_too_many = false;
  std::vector<std::int32_t> drafts;  // [d]
  // [1 + d] the lone run's logits behind the last known token and behind each draft; empty: the
  // row samples nothing.
  std::vector<std::vector<float>> twin_logits;
  std::vector<std::size_t> logits;  // [1 + d] of the machine's, or empty as above

  std::int32_t num_known() const { return num_tokens - num_drafts; }
  bool is_sampled() const { return num_sampled > 0 && !counts_too_many; }
};

Result<std::unique_ptr<LanguageRun>> LanguageRun::create(const HybridModel& model,
                                                         const LanguageConfig& config,
                                                         const MakeLanguageMachine& make_machine) {
  const LanguageMachineRequest request{.model = model,
                                       .kv_cache_config = config.kv_cache_config,
                                       .num_speculative_tokens = config.num_speculative_tokens,
                                       .missing_conv_positions = config.missing_conv_positions,
                                       .form = config.form,
                                       .max_num_tokens = config.max_num_tokens};
  auto machine = make_machine ? make_machine(request) : HostLanguageMachine::create(request);
  if (!machine) return machine.error();
  return std::unique_ptr<LanguageRun>(new LanguageRun(model, config, std::move(machine).value()));
}

LanguageRun::LanguageRun(const HybridModel& model, const LanguageConfig& config,
                         std::unique_ptr<LanguageMachine> machine)
    : model_(model),
      config_(config),
      machine_(std::move(machine)),
      copies_(config.has_own_engine),
      writers_(machine_->layout().num_blocks),
      ids_(model.vocab_size) {}

LanguageRun::~LanguageRun() = default;

LanguageRun::Spoken& LanguageRun::spoken(const StepTrace& trace, std::size_t row,
                                         const TokenContentOf& content_of) {
  const RequestId request = trace.rows[row].request;
  const auto found = spoken_.find(request);
  if (found != spoken_.end()) return found->second;
  Spoken& added = spoken_.try_emplace(request, model_).first->second;
  const std::int32_t prompt = trace.scheduled_of(trace.rows[row]).num_prompt_tokens;
  for (std::int32_t position = 0; position < prompt; ++position)
    added.ids.push_back(ids_.id(content_of(request, position)));
  step_.words.prompts.push_back({request, added.ids});
  return added;
}

LanguageRun::Row LanguageRun::prepare_row(const StepTrace& trace, std::size_t index,
                                          const TokenContentOf& content_of) {
  const RowTrace& traced = trace.rows[index];
  Row row{.index = index, .spoken = &spoken(trace, index, content_of)};
  // Tokens that the batch has, whatever a changed trace says.
  const auto size = static_cast<std::int32_t>(std::min(token_ids_.size(), trace.tokens.size()));
  row.first_token = std::clamp(trace.common.query_start_loc[index], 0, size);
  row.num_tokens =
      std::clamp(trace.common.query_start_loc[index + 1], row.first_token, size) - row.first_token;
  row.num_computed = traced.num_computed_tokens;
  row.num_drafts =
      std::clamp(trace.scheduled_of(traced).num_draft_tokens, 0, std::max(row.num_tokens - 1, 0));
  row.num_sampled =
      row.num_tokens == 0 ? 0 : std::min(traced.num_sampled_tokens, row.num_drafts + 1);
  std::vector<std::int32_t>& ids = row.spoken->ids;
  row.counts_too_many =
      row.num_computed < 0 || static_cast<std::size_t>(row.num_computed) > ids.size();
  if (row.counts_too_many) {
    for (std::int32_t i = row.first_token; i < row.first_token + row.num_tokens; ++i)
      token_ids_[static_cast<std::size_t>(i)] = ids_.id(trace.tokens[static_cast<std::size_t>(i)]);
    return row;
  }
  // Tokens that the request has; another content in the batch is another token.
  for (std::int32_t i = 0; i < row.num_known(); ++i) {
    const auto position = static_cast<std::size_t>(row.num_computed + i);
    const TokenContent content = trace.tokens[static_cast<std::size_t>(row.first_token + i)];
    if (position >= ids.size()) ids.resize(position + 1, ids_.id(content));
    const bool is_its_own =
        content == content_of(traced.request, static_cast<std::int32_t>(position));
    token_ids_[static_cast<std::size_t>(row.first_token + i)] =
        is_its_own ? ids[position] : ids_.id(content);
  }
  for (std::int32_t i = 0; i < row.num_tokens; ++i)
    positions_[static_cast<std::size_t>(row.first_token + i)] = row.num_computed + i;
  return row;
}

// Brings the lone run from what the row continues to the last token it has, and keeps the states
// that the row should leave on the way.
void LanguageRun::follow_twin(Row& row) {
  TwinSequence& twin = row.spoken->twin;
  const std::vector<std::int32_t>& ids = row.spoken->ids;
  twin.stand_behind(row.num_computed, ids);
  std::set<std::int32_t> stops;  // tokens of the row
  for (const GroupRows& group : groups_)
    for (const RowState& place : group.writes())
      if (place.row == static_cast<std::int32_t>(row.index) && place.num_tokens < row.num_known())
        stops.insert(place.num_tokens);
  stops.insert(row.num_known());
  std::int32_t done = 0;
  for (const std::int32_t stop : stops) {
    if (stop <= done) continue;
    twin.extend(std::span(ids).subspan(static_cast<std::size_t>(row.num_computed + done),
                                       static_cast<std::size_t>(stop - done)));
    done = stop;
  }
}

// Drafts are the lone run's own choice where the engine accepts them, and another token where it
// does not, so that a right state accepts what the engine accepts.
void LanguageRun::choose_drafts(const StepTrace& trace, Row& row,
                                const TokenContentOf& content_of) {
  TwinSequence& twin = row.spoken->twin;
  if (row.num_sampled <= 0 && row.num_drafts == 0) return;
  row.twin_logits.push_back(twin.logits());
  for (std::int32_t j = 0; j < row.num_drafts; ++j) {
    const auto at = static_cast<std::size_t>(row.first_token + row.num_known() + j);
    const TokenContent content = trace.tokens[at];
    const std::int32_t right = greedy_token(row.twin_logits.back());
    const bool is_accepted = j < row.num_sampled - 1;
    const TokenContent own =
        content_of(trace.rows[row.index].request, row.num_computed + row.num_known() + j);
    std::int32_t id = 0;
    if (config_.forces_tokens) {  // a trace may not know a draft, but the token that it became
      id = ids_.id(is_accepted ? own : content);
    } else if (token_kind(content) != TokenKind::placeholder) {
      id = is_accepted ? ids_.settled(own).value_or(right) : ids_.wrong_draft(right, content);
      // A prompt had settled an accepted token that is not the model's choice.
      row.spoken->is_forced = row.spoken->is_forced || (is_accepted && id != right);
    }
    row.drafts.push_back(id);
    token_ids_[at] = id;
    twin.extend({&id, 1});
    row.twin_logits.push_back(twin.logits());
  }
}

void LanguageRun::read_groups(const StepTrace& trace) {
  groups_.resize(trace.groups.size());
  buffers_.resize(trace.groups.size());
  forward_groups_.clear();
  for (std::size_t g = 0; g < trace.groups.size(); ++g) {
    const BatchSize size{.num_tokens = static_cast<std::int32_t>(token_ids_.size()),
                         .num_blocks = machine_->layout().num_blocks,
                         .num_speculative_tokens = config_.num_speculative_tokens,
                         .is_chunked = config_.form == NumericForm::chunked};
    const GroupTrace& group = trace.groups[g];
    if (const auto stale = config_.has_own_engine ? buffers_[g].read(trace, group) : std::nullopt) {
      GroupTrace replayed = group;
      replayed.metadata = stale;
      groups_[g].read(trace, replayed, config_.mamba_cache_mode, size);
    } else {
      groups_[g].read(trace, group, config_.mamba_cache_mode, size);
    }
    forward_groups_.push_back(groups_[g].group());
  }
}

void LanguageRun::keep_states(const StepTrace& trace, std::span<const Row> rows, bool reads) {
  if (config_.form == NumericForm::chunked) return;  // states differ by rounding
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (const RowState& place : reads ? groups_[g].reads() : groups_[g].writes()) {
      if (static_cast<std::size_t>(place.row) >= rows.size()) continue;
      const Row& row = rows[static_cast<std::size_t>(place.row)];
      if (row.counts_too_many) continue;
      const std::int32_t num_tokens = row.num_computed + place.num_tokens;
      const auto* truth = row.spoken->twin.states_after(num_tokens);
      if (truth == nullptr) continue;
      step_.compared.push_back({trace.rows[row.index].request, static_cast<std::int32_t>(g),
                                place.block, place.kind, place.num_tokens == 0});
      judge_.keep(*machine_, {.place = place,
                              .step = trace.step,
                              .request = trace.rows[row.index].request,
                              .group = static_cast<std::int32_t>(g),
                              .num_tokens = num_tokens,
                              .truth = *truth,
                              .writer = writers_.of(place.kind, place.block)});
    }
}

// Tokens that the logits accept, the bonus token included. Placeholders are never accepted.
std::int32_t LanguageRun::num_accepted(const StepTrace& trace, const Row& row,
                                       std::span<const std::int32_t> greedy) const {
  std::size_t accepted = 0;
  for (; accepted < row.drafts.size(); ++accepted) {
    const auto at = static_cast<std::size_t>(row.first_token + row.num_known()) + accepted;
    if (token_kind(trace.tokens[at]) == TokenKind::placeholder ||
        row.drafts[accepted] != greedy[accepted])
      break;
  }
  return static_cast<std::int32_t>(accepted) + 1;
}

void LanguageRun::sample(const StepTrace& trace, Row& row, const TokenContentOf& content_of) {
  if (!row.is_sampled()) return;
  const RequestId request = trace.rows[row.index].request;
  Spoken& spoken = *row.spoken;
  const std::int32_t first = row.num_computed + row.num_known();  // position of the first token
  std::vector<std::int32_t> greedy;
  for (std::int32_t j = 0; j <= row.num_drafts; ++j) {
    const std::size_t number = row.logits[static_cast<std::size_t>(j)];
    const std::span<const float> logits = machine_->kept(number);
    greedy.push_back(machine_->greedy(number));
    if (j >= row.num_sampled) continue;
    const std::vector<float>& twin_logits = row.twin_logits[static_cast<std::size_t>(j)];
    if (!logits_agree(logits, twin_logits, config_.form))
      step_.logits.push_back({request, static_cast<std::int32_t>(row.index), first + j,
                              greedy.back(), greedy_token(twin_logits)});
    const bool was_drafted = j < row.num_sampled - 1;
    SpokenToken token{.step = trace.step,
                      .position = first + j,
                      .id = was_drafted ? row.drafts[static_cast<std::size_t>(j)] : greedy.back(),
                      .twin_id = greedy_token(twin_logits),
                      .was_drafted = was_drafted,
                      .margin = logit_margin(twin_logits),
                      .divergence = kl_divergence(twin_logits, logits)};
    if (config_.num_likely > 0) {
      token.likely = likely_tokens(logits, config_.num_likely);
      token.twin_likely = likely_tokens(twin_logits, config_.num_likely);
    }
    add_token(std::move(token), content_of(request, first + j), request, spoken);
  }
  note_rejected(trace, row);
  const std::int32_t accepted = num_accepted(trace, row, greedy);
  const bool has_near_tie =
      config_.form == NumericForm::chunked && std::ranges::any_of(row.twin_logits, is_near_tie);
  if (accepted != row.num_sampled && !spoken.is_forced && !config_.forces_tokens && !has_near_tie)
    step_.accepted.push_back(
        {request, static_cast<std::int32_t>(row.index), row.num_sampled, accepted});
}

void LanguageRun::note_rejected(const StepTrace& trace, const Row& row) {
  const std::int32_t first = row.num_computed + row.num_known();
  for (std::int32_t j = row.num_sampled - 1; j < row.num_drafts; ++j) {
    const auto at = static_cast<std::size_t>(row.first_token + row.num_known() + j);
    if (token_kind(trace.tokens[at]) == TokenKind::placeholder) continue;
    step_.words.rejected.push_back(
        {trace.rows[row.index].request,
         {trace.step, first + j, row.drafts[static_cast<std::size_t>(j)]}});
  }
}

void LanguageRun::add_token(SpokenToken token, TokenContent content, RequestId request,
                            Spoken& spoken) {
  const std::int32_t id =
      config_.forces_tokens ? ids_.id(content) : ids_.generated(content, token.id);
  const bool was_settled = token.was_drafted && token.id != token.twin_id && spoken.is_forced;
  token.is_forced = id != token.id || was_settled;
  spoken.is_forced = spoken.is_forced || token.is_forced;
  token.id = id;
  spoken.ids.resize(static_cast<std::size_t>(token.position));
  spoken.ids.push_back(id);
  step_.words.tokens.push_back({request, std::move(token)});
}

const LanguageStep& LanguageRun::follow(const StepTrace& trace, const StateOps& ops,
                                        const TokenContentOf& content_of) {
  step_ = {};
  // Blocks are given out, then zeroed, then copied to.
  std::size_t given_out = 0;
  while (given_out < ops.num_before_forward && ops.batches[given_out].kind == StateOpKind::poison)
    ++given_out;
  const auto run_copies = [&](const OpRange& range, WriteKind kind) {
    copies_.run(trace, ops, range, *machine_);
    ops.visit_batches(
        range.first, range.end, [&](auto blocks) { writers_.forget(blocks); },
        [&](auto copies) { writers_.copy(trace, copies, kind, range.launch); }, [](auto) {});
  };
  run_copies({0, given_out, nullptr}, WriteKind::pre_copy);
  machine_->zero(trace.zeroed_blocks);
  writers_.forget(trace.zeroed_blocks);
  run_copies({given_out, ops.num_before_forward, &trace.pre_copies}, WriteKind::pre_copy);
  machine_->copy_blocks(block_copies_of(trace.cache_events));
  std::vector<Row> rows;
  if (has_rows(trace)) run_rows(trace, rows, content_of);
  run_copies({ops.num_before_forward, ops.batches.size(), &trace.post_copies},
             WriteKind::post_copy);
  run_dummy_rows(trace);
  status_ = machine_->finish();
  if (status_) status_ = copies_.check(*machine_);
  if (!status_) return step_;
  judge_.append_differences(*machine_, step_.states, step_.writers);
  for (Row& row : rows) sample(trace, row, content_of);
  for (const CommitTrace& commit : trace.committed) {
    const auto found = spoken_.find(commit.request);
    if (found == spoken_.end()) continue;
    if (commit.num_appended_tokens != 0)
      step_.words.taken.push_back({commit.request, commit.num_appended_tokens});
    // Its keys and values are not needed any more.
    if (commit.finished) found->second.twin = TwinSequence(model_);
  }
  texts_.add(step_.words);
  return step_;
}

// The batch's rows, up to what is to be compared of them.
void LanguageRun::run_rows(const StepTrace& trace, std::vector<Row>& rows,
                           const TokenContentOf& content_of) {
  const auto num_tokens = std::max(
      trace.tokens.size(), static_cast<std::size_t>(std::max(trace.common.num_actual_tokens, 0)));
  token_ids_.assign(num_tokens, 0);
  positions_.assign(num_tokens, 0);
  for (std::size_t i = 0; i < trace.rows.size(); ++i)
    rows.push_back(prepare_row(trace, i, content_of));
  read_groups(trace);
  for (Row& row : rows) {
    if (row.counts_too_many) continue;
    follow_twin(row);
    choose_drafts(trace, row, content_of);
  }
  keep_states(trace, rows, true);
  machine_->forward({.token_ids = token_ids_,
                     .positions = positions_,
                     .groups = forward_groups_,
                     .replays_graph = trace.graph.pads_metadata()});
  for (const GroupRows& group : groups_) writers_.write(trace, group.written());
  keep_states(trace, rows, false);
  for (Row& row : rows)
    for (std::int32_t j = 0; row.is_sampled() && j <= row.num_drafts; ++j)
      row.logits.push_back(machine_->keep_logits(row.first_token + row.num_known() - 1 + j));
}

// Rows of a dummy run that name a block (known bug 14) fold token 0 into its state. Rows of one
// launch do not wait for each other: of several that name one block, the first stands for all.
void LanguageRun::run_dummy_rows(const StepTrace& trace) {
  if (trace.dummy_rows.empty()) return;
  const std::int32_t one_row[] = {0, 1};
  for (auto row = trace.dummy_rows.begin(); row != trace.dummy_rows.end(); ++row) {
    const bool is_group =
        row->group >= 0 && static_cast<std::size_t>(row->group) < trace.groups.size();
    const bool written = std::any_of(trace.dummy_rows.begin(), row, [&](const DummyRow& before) {
      return before.group == row->group && before.block == row->block;
    });
    if (!is_group || written || row->block <= 0 || row->block >= machine_->layout().num_blocks)
      continue;
    forward_groups_.assign(trace.groups.size(), {});
    DecodePart part;
    part.tokens = {0};
    part.rows = {.state_indices = matrix_view(&row->block, 1, 1), .query_start_loc = one_row};
    forward_groups_[static_cast<std::size_t>(row->group)].decodes.push_back(std::move(part));
    const WrittenPlace places[] = {{-1, StateKind::conv, row->block, 0, true},
                                   {-1, StateKind::temporal, row->block, 0, true}};
    writers_.write(trace, places);
    token_ids_.assign(1, 0);
    positions_.assign(1, 0);
    machine_->forward(
        {.token_ids = token_ids_, .positions = positions_, .groups = forward_groups_});
  }
}

std::vector<SpokenText> LanguageRun::texts() const {
  std::vector<SpokenText> texts = texts_.taken();
  for (SpokenText& text : texts)
    if (parts_from_lone_run(text)) text.alone = say_alone(model_, text.prompt, text.tokens.size());
  return texts;
}

}  // namespace hybridscope
