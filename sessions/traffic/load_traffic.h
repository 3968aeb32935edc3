// Traffic as the user asks for it: a file in any format, or "synthetic", under a load; with what
// the readers of the formats share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/engine/token_sequence.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/text/input_file.h"
#include "sessions/text/json_value.h"
#include "sessions/traffic/traffic.h"
#include "sessions/traffic/traffic_load.h"

namespace hybridscope {

struct TrafficInput {
  ReadBytes read;    // unpacked
  std::string file;  // its name in errors
};

// The keys of the JSON object that `head` begins with, as far as it goes, in their order, with
// those of objects inside ("request.messages") but not of what arrays hold. Empty: it begins
// otherwise.
std::vector<std::string> keys_of_first_object(std::string_view head);

// Does the object that `head` begins with have all, or any, of these keys itself?
bool first_object_has_all(std::string_view head, std::initializer_list<std::string_view> keys);
bool first_object_has_any(std::string_view head, std::initializer_list<std::string_view> keys);

// The table of traffic formats (docs/traffic.md). A new format is one row and one file.

struct TrafficFormat {
  std::string_view name;           // --traffic-format
  std::string_view description;    // one sentence without its full stop
  std::string_view recognised_by;  // what `recognises` looks for, in words
  bool (*recognises)(std::string_view head);
  Result<TrafficLog> (*read)(TrafficInput input);
};

// In the order in which a file is tried.
std::span<const TrafficFormat> traffic_formats();

// The format of a file that begins so; null: none is recognised.
const TrafficFormat* recognise_traffic(std::string_view head);
// The format of a file, also of one packed with zstd. Null as well if it cannot be read or is a
// pipe, which could be read only once.
const TrafficFormat* recognise_traffic_file(const std::string& path);

// `format` is a name in the table; empty: what the file's beginning says. Errors: of the format's
// reader; invalid_input, there is no such format; corrupt "FILE:1: ...", none is recognised.
Result<TrafficLog> read_traffic_log(TrafficInput input, std::string_view format = {});

inline constexpr std::string_view kSyntheticTraffic = "synthetic";

struct TrafficOptions {
  std::string format;  // a name of traffic_formats(); empty: recognised by the file's content
  TrafficLoad load;    // its seed is that of the generator as well
  friend bool operator==(const TrafficOptions&, const TrafficOptions&) = default;
};

// A zstd file is unpacked on the way. Error io: the file cannot be read; not_available: the program
// was asked to stop; invalid_input: the options; corrupt with "FILE:LINE: ...": the reader's.
Result<Traffic> load_traffic(const std::string& source, const TrafficOptions& options);

// Reading JSON Lines, each line a value.

enum class EmptyLines : std::uint8_t { passed_over, refused };

// Calls take(value, line), whose errors get the place and become corrupt. Errors: those of
// LineSource; corrupt "FILE:LINE: ...", or LINE:COLUMN when the text is not JSON.
Status read_json_lines(TrafficInput input, std::size_t most_line_bytes, EmptyLines empty,
                       const std::function<Status(const JsonValue& value, int line)>& take);

// The error of a file of JSON Lines without a request.
Error no_request(const std::string& file);

// Builds the prompts of a conversation: each one is the whole history, and an answer in it is what
// the earlier request generated, so that later turns can hit it. Texts become tokens here.

// Texts are cut into pieces of as many tokens and shared piece by piece.
inline constexpr std::int32_t kTextPieceTokens = 64;
inline constexpr std::int32_t kBytesOfAToken = 4;  // assumed, of UTF-8 text

// ceil(bytes / 4).
std::int64_t tokens_of_text(std::string_view text);

// A piece of text: its tokens are those of the text that is named by its bytes.
struct TextPiece {
  std::uint64_t content = 0;
  std::int32_t num_bytes = 0;
};
std::vector<TextPiece> pieces_of_text(std::string_view text);

// The most prompt segments that a log may have: 2.4 GB of them. Long conversations have the square
// of their length.
inline constexpr std::int64_t kMaxTrafficPieces = 100'000'000;

// Adds the request to the log, with its key; a prompt without tokens gets one, and so does an
// output without, which is counted, as is a time before that of the request in front. Error
// invalid_input: a prompt above kMaxPromptTokens, a log above kMaxTrafficPieces.
Status add_logged(TrafficLog& log, LoggedRequest logged);

// Times count from the earliest.
void count_from_earliest(TrafficLog& log);

class ConversationHistory {
 public:
  explicit ConversationHistory(std::int32_t conversation) : conversation_(conversation) {}

  // Appends to the next prompt.
  void add_text(std::string_view text);
  void add(const PromptSegment& segment);
  std::int64_t num_tokens() const { return num_tokens_; }

  // Adds a request to the log that asks with the history as its prompt and waits for the turn
  // before it; its answer becomes part of the history. Errors: those of add_logged().
  Status ask(TrafficLog& log, std::string name, std::int32_t max_tokens);

 private:
  std::int32_t conversation_;
  std::vector<PromptSegment> history_;
  std::int64_t num_tokens_ = 0;
  std::int32_t last_ = -1;  // index of the last turn in the log
};

}  // namespace hybridscope
