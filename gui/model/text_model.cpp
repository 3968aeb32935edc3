#include "gui/model/text_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/fingerprint.h"
#include "gui/model/workbench.h"
#include "sessions/run/spoken_words.h"

namespace hybridscope {
namespace {

std::string token_words(std::int32_t id, std::int32_t vocab_size) {
  return tokens_as_text({&id, 1}, vocab_size);
}

// In quotes, for a space is one too.
std::string quoted_token(std::int32_t id, std::int32_t vocab_size) {
  return fmt::format("\"{}\"", token_words(id, vocab_size));
}

TextColumn text_column(const SpokenText& text, std::size_t index, std::int64_t step,
                       std::int32_t vocab_size) {
  const SpokenToken& token = text.tokens[index];
  TextColumn column{.said = token_words(token.id, vocab_size),
                    .alone = {},
                    .token = static_cast<std::int32_t>(index + 1),
                    .step = token.step,
                    .in_step = token.step == step,
                    .is_forced = token.is_forced};
  if (index < text.alone.size()) {
    column.alone = token_words(text.alone[index], vocab_size);
    column.differs = text.alone[index] != token.id;
  }
  return column;
}

// Rejected drafts of the shown step stand in front of the first token at or behind their position.
std::vector<TextColumn> text_columns(const SpokenText& text, std::int64_t step,
                                     std::int32_t vocab_size) {
  std::vector<TextColumn> columns;
  const auto rejected_before = [&](std::int32_t token) {
    for (const RejectedDraft& draft : text.rejected)
      if (draft.step == step)
        columns.push_back({.said = token_words(draft.id, vocab_size),
                           .alone = {},
                           .token = token,
                           .step = step,
                           .is_rejected = true,
                           .in_step = true});
  };
  std::int32_t position = -1;  // of the first rejected draft
  for (const RejectedDraft& draft : text.rejected)
    if (draft.step == step && position < 0) position = draft.position;
  bool marked = false;
  for (std::size_t i = 0; i < text.tokens.size(); ++i) {
    TextColumn column = text_column(text, i, step, vocab_size);
    column.is_first_difference = column.differs && !std::exchange(marked, marked || column.differs);
    if (position >= 0 && text.tokens[i].position >= position) {
      rejected_before(column.token);
      position = -1;
    }
    columns.push_back(std::move(column));
  }
  if (position >= 0) rejected_before(static_cast<std::int32_t>(text.tokens.size() + 1));
  return columns;
}

// The selected one, else the first that parts, else the first.
const SpokenText* chosen_text(const std::vector<SpokenText>& texts, RequestId request) {
  const auto chosen = std::ranges::find(texts, request, &SpokenText::request);
  if (chosen != texts.end()) return &*chosen;
  const auto parts = std::ranges::find_if(texts, parts_from_lone_run);
  if (parts != texts.end()) return &*parts;
  return texts.empty() ? nullptr : &texts.front();
}

constexpr std::array<ColumnWords, 5> kChanceColumns = {
    {{"Rank"},
     {"Run", "", ColumnKind::words},
     {"Probability", "", ColumnKind::words},
     {"Alone", "", ColumnKind::words},
     {"Probability alone", "", ColumnKind::words}}};

// The token at `rank` and its probability, as two cells.
void add_chance(const std::vector<TokenChance>& likely, std::size_t rank, std::int32_t vocab_size,
                TableRow& row) {
  if (rank >= likely.size()) {
    row.cells.resize(row.cells.size() + 2);
    return;
  }
  const float share = likely[rank].probability;
  row.cells.push_back(words_cell(quoted_token(likely[rank].id, vocab_size)));
  row.cells.push_back(with_extras(words_cell(probability_words(share)), {.share = share}));
}

TokenChances chances_of(const SpokenText& text, const ShownRun& run, const TextOptions& options,
                        std::int32_t vocab_size) {
  if (text.tokens.empty()) return {};
  const std::size_t count = text.tokens.size();
  const std::size_t index =
      options.token > 0 ? std::min(static_cast<std::size_t>(options.token), count) - 1 : count - 1;
  const SpokenToken& token = text.tokens[index];
  TokenChances chances{.request = text.request,
                       .token = static_cast<std::int32_t>(index + 1),
                       .table = {.title = fmt::format("Token {} of {}, step {}: \"{}\"", index + 1,
                                                      run.names().request(text.request), token.step,
                                                      token_words(token.id, vocab_size)),
                                 .note = "most probable tokens of the run and of its lone run",
                                 .headings = headings_of(kChanceColumns)}};
  for (std::size_t rank = 0; rank < std::max(token.likely.size(), token.twin_likely.size());
       ++rank) {
    TableRow& row = chances.table.rows.emplace_back();
    row.cells.push_back(number_cell(static_cast<std::int64_t>(rank + 1)));
    add_chance(token.likely, rank, vocab_size, row);
    add_chance(token.twin_likely, rank, vocab_size, row);
  }
  return chances;
}

}  // namespace

RequestText told_text(const SpokenText& text, std::string name, std::int64_t step,
                      std::int32_t vocab_size) {
  return {.request = text.request,
          .name = std::move(name),
          .prompt = tokens_as_text(text.prompt, vocab_size),
          .columns = text_columns(text, step, vocab_size),
          .parts = parts_from_lone_run(text),
          .verdict = text_verdict(text, vocab_size)};
}

TextModel make_text_model(ShownRun& run, const Selection& selection, const TextOptions& options) {
  const ShownSpeech shown = run.speech();
  TextModel model;
  if (shown.speech == nullptr) {
    model.empty = shown.why;
    return model;
  }
  model.model = speech_words(shown.speech->info());
  model.spaced = shown.speech->info().vocab_size != kByteVocabulary;
  model.progress = shown.why;
  if (shown.is_awaited)
    model.progress =
        fmt::format("Computing: step {} of {} ...", shown.speech->last_step(), run.step());
  const std::int32_t vocab_size = shown.speech->info().vocab_size;
  const std::vector<SpokenText> texts = shown.speech->texts_at(run.step());
  if (texts.empty() && model.progress.empty())
    model.progress = run.header().kind == SessionKind::judge
                         ? "The model took the trace's tokens and says nothing of its own; State "
                           "differences shows what it held."
                         : "No request has had a row yet.";
  const SpokenText* chosen = chosen_text(texts, selection.request);
  for (const SpokenText& text : texts)
    if (model.requests.size() + 1 < kMostTexts || &text == chosen ||
        (model.requests.size() < kMostTexts && chosen != nullptr && chosen < &text))
      model.requests.push_back(
          told_text(text, run.names().request(text.request), run.step(), vocab_size));
  if (texts.size() > model.requests.size())
    model.left_out = fmt::format("... and {} more requests; select one to see its text",
                                 texts.size() - model.requests.size());
  if (chosen != nullptr) model.chances = chances_of(*chosen, run, options, vocab_size);
  return model;
}

std::string probability_words(float probability) {
  return probability < 0.0001F ? "<0.0001" : fmt::format("{:.2g}", probability);
}

namespace {

std::string text_of(const std::vector<TextColumn>& columns, bool alone, bool spaced) {
  std::string text;
  for (const TextColumn& column : columns) {
    if (column.is_rejected) continue;
    if (spaced && !text.empty()) text += ' ';
    text += alone && !column.alone.empty() ? column.alone : column.said;
  }
  return text;
}

}  // namespace

Picture text_picture(Workbench& workbench) {
  const TextModel model =
      make_text_model(*workbench.run(), workbench.selection(), workbench.options().text);
  Picture content;
  for (const std::string& note : {model.empty, model.model, model.progress, model.left_out})
    add_note(content, note);
  if (!model.empty.empty()) return content;
  Table texts{.title = "Texts", .headings = {"Request", "Prompt", "Run", "Alone", "Verdict"}};
  for (const RequestText& told : model.requests)
    texts.rows.push_back({words_cell(told.name), words_cell(told.prompt),
                          words_cell(text_of(told.columns, false, model.spaced)),
                          words_cell(text_of(told.columns, true, model.spaced)),
                          words_cell(told.verdict)});
  content.tables.push_back(std::move(texts));
  if (!model.chances.table.rows.empty()) content.tables.push_back(model.chances.table);
  return content;
}

}  // namespace hybridscope
