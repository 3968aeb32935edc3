#include "sessions/run/speech_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <vector>

#include "sessions/run/spoken_words.h"
#include "sessions/text/number_words.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

struct SaidInStep {
  std::vector<std::int32_t> said;
  std::vector<std::int32_t> alone;
  std::vector<std::int32_t> rejected;
};

std::map<RequestId, SaidInStep> by_request(const StepWords& words) {
  std::map<RequestId, SaidInStep> requests;
  for (const StepWords::Token& token : words.tokens) {
    requests[token.request].said.push_back(token.token.id);
    requests[token.request].alone.push_back(token.token.twin_id);
  }
  for (const StepWords::Draft& rejected : words.rejected)
    requests[rejected.request].rejected.push_back(rejected.draft.id);
  return requests;
}

std::string line_of(const SaidInStep& request, std::string_view name, std::int32_t vocab_size) {
  std::string line = fmt::format("{} says \"{}\"", name, tokens_as_text(request.said, vocab_size));
  if (request.said != request.alone)
    line += fmt::format(", a lone run there \"{}\"", tokens_as_text(request.alone, vocab_size));
  if (!request.rejected.empty())
    line += fmt::format("; rejected drafts \"{}\"", tokens_as_text(request.rejected, vocab_size));
  return line;
}

}  // namespace

std::string explain_speech(const StepSpeech& speech, const SpeechInfo& info, const Names& names) {
  const auto requests = by_request(speech.words);
  if (requests.empty() && speech.compared.empty()) return {};
  TextPage page;
  page.heading(speech_words(info));
  for (const auto& [request, said] : requests)
    page.line(line_of(said, names.request(request), info.vocab_size));
  const auto places = static_cast<std::int64_t>(speech.compared.size());
  if (places > 0 && speech.states.empty())
    page.line(fmt::format("{} compared with lone runs: all equal in every bit",
                          counted(places, "state")));
  for (std::size_t i = 0; i < std::min(speech.states.size(), kMostStatesExplained); ++i) {
    const StateDifference& state = speech.states[i];
    page.line(fmt::format(
        "block {}, layer {}: the {} that a row of {} {} differs from the lone run's after {} "
        "tokens, by at most {:.3g}, in {} elements",
        state.block, state.layer, state.kind == StateKind::conv ? "conv window" : "temporal state",
        names.request(state.request), state.is_read ? "read" : "left", state.num_tokens,
        state.largest, grouped_number(state.num_elements)));
  }
  if (speech.states.size() > kMostStatesExplained)
    page.line(fmt::format("... and {} more", speech.states.size() - kMostStatesExplained));
  return page.take();
}

}  // namespace hybridscope
