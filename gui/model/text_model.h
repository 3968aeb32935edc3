// What a language model says in a run: each request's text up to the shown step, beside what its
// lone run says, and the probabilities of one token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/picture.h"
#include "gui/model/shown_run.h"
#include "gui/model/view_state.h"

namespace hybridscope {

class Workbench;

// A token of the run, or a draft that it rejected, and the lone run's token in the same place.
struct TextColumn {
  std::string said;
  std::string alone;       // empty: a rejected draft, or the texts are the same
  std::int32_t token = 0;  // generated token, from 1; of a draft, the one that came instead
  std::int64_t step = 0;
  bool is_rejected = false;
  bool in_step = false;  // said in the shown step
  bool differs = false;  // from the lone run's token in its place
  bool is_first_difference = false;
  bool is_forced = false;  // given by a prompt that came before it
};

struct RequestText {
  RequestId request{};
  std::string name;
  std::string prompt;
  std::vector<TextColumn>
      columns;          // rejected drafts of the shown step in front of what came instead
  bool parts = false;   // from the lone run
  std::string verdict;  // "as alone"; where they part, and how far
};

// What is known of a request's text up to the shown step; vocab_size 256: tokens are bytes.
RequestText told_text(const SpokenText& text, std::string name, std::int64_t step,
                      std::int32_t vocab_size);

struct TokenChances {
  RequestId request{};
  std::int32_t token = 0;  // from 1
  Table table;             // the most probable tokens of both runs; no rows: there is no token
};

inline constexpr std::string_view kTextLegend =
    "Shaded: said in this step. Struck through: a rejected draft. Underlined: not what the lone "
    "run says there; framed: the first such token. Click a token for its probabilities.";
inline constexpr std::size_t kMostTexts = 60;

struct TextModel {
  std::string empty;     // why there are no texts
  std::string model;     // "Language model jargon-gdn, form recurrent"
  std::string progress;  // what is still computed, or why no more comes; empty: nothing
  bool spaced = false;   // tokens are words: there is a space between them
  std::vector<RequestText> requests;  // at most kMostTexts
  std::string left_out;               // "and 3 more requests"; empty: none
  TokenChances chances;               // of the selected request, or the first that parts
};

// Requires: run.step() > 0.
TextModel make_text_model(ShownRun& run, const Selection& selection, const TextOptions& options);

// "0.93", "0.0021", "<0.0001".
std::string probability_words(float probability);

// What the panel shows. Requires: a step is shown.
Picture text_picture(Workbench& workbench);

}  // namespace hybridscope
