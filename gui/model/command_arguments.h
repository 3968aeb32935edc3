// Arguments of commands, read word by word.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "gui/model/shown_run.h"
#include "gui/model/view_state.h"

namespace hybridscope {

// Words separated by spaces; a word in double quotes may contain spaces, and quotes inside it are
// doubled. Error: a quote that is not closed.
Result<std::vector<std::string>> words_of(std::string_view text);

// The inverse: in double quotes if the word contains spaces or quotes.
std::string quoted_word(std::string_view word);

// A whole number from `least` to `most`. Error: "STEP: expected a whole number from 1 to 9, found
// "x"".
struct NumberRange {
  std::string_view what{};
  std::int64_t least = 0;
  std::int64_t most = 0;
};
Result<std::int64_t> read_number(std::string_view word, const NumberRange& range);

// A request of the run by its name. Error: there is none; the message lists the names if they are
// few.
Result<RequestId> read_request(std::string_view word, const ShownRun& run);

// A panel by its id. Error: there is none; the message names near ones, or all if none is near.
Result<const PanelInfo*> read_panel(std::string_view word, const ViewState& view);

// Error: the number of words differs from that of `usage`: "expected REQUEST COUNT, found 1 word".
Result<std::vector<std::string>> read_words(std::string_view text, std::string_view usage);

}  // namespace hybridscope
