#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "sessions/record/speech_json.h"
#include "sessions/record/value_names.h"
#include "sessions/scenario/engine_profile.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/json_value.h"
#include "sessions/text/name_hash.h"
#include "storage/record_jsonl.h"
#include "storage/session_file.h"
#include "storage/session_rows.h"

namespace hybridscope {
namespace {

// Requests are numbered in order of arrival. A number far above the named ones is refused, so that
// a damaged line cannot cause huge allocations.
constexpr std::int64_t kMaxNamesAhead = 1 << 16;

// Places in a pair.
constexpr std::size_t kFirst = 0;
constexpr std::size_t kSecond = 1;

// One of `words`, of which the first stands for a member that is not there.
template <class E>
E word_at(const JsonValue& object, std::string_view key, std::string_view (*name)(E),
          std::initializer_list<E> words) {
  const auto member = object.find(key);
  if (!member) return *words.begin();
  std::string expected;
  for (const E word : words) {
    if (member->is_string() && member->text() == name(word)) return word;
    expected += fmt::format("{}\"{}\"", expected.empty() ? "" : ", ", name(word));
  }
  member->expected(fmt::format("one of {}", expected));
}

std::string text_at(const JsonValue& object, std::string_view key) {
  return object.string_at(key).value_or("");
}

// [step, note], of a step that was read.
std::pair<std::int64_t, std::string> bookmark_of(const JsonValue& entry,
                                                 std::span<const std::int64_t> steps) {
  const auto step = entry.is_array() && entry.size() == 2 ? entry[kFirst].whole() : std::nullopt;
  if (!step || !entry[kSecond].is_string())
    entry.fail(entry.describe() + ", expected [step, note]");
  if (!std::binary_search(steps.begin(), steps.end(), *step))
    entry[kFirst].fail(fmt::format("no step {} came before", *step));
  std::string note = entry[kSecond].string();
  if (Status fits = check_note(note); !fits.ok()) entry[kSecond].fail(fits.error().message);
  return {*step, std::move(note)};
}

}  // namespace

std::string RecordJsonlReader::place() const { return fmt::format("{}:{}", file_, line_); }

Result<nlohmann::json> RecordJsonlReader::parse(std::string_view line, std::int64_t line_number) {
  line_ = line_number;
  auto parsed = parse_json({.text = line, .file = file_, .line = static_cast<int>(line_number)});
  if (parsed.ok() && !parsed.value().is_object())
    return Error{ErrorKind::corrupt, fmt::format("{}: {}, expected an object", place(),
                                                 JsonValue(parsed.value()).describe())};
  return parsed;
}

std::string_view RecordJsonlReader::keep(const std::string& text) {
  for (const std::string& known : texts_)
    if (known == text) return known;
  return texts_.emplace_back(text);
}

// Fills the members it visits from the elements of a row.
struct RecordJsonlReader::Unpacker {
  RecordJsonlReader& reader;
  const nlohmann::json& row;
  std::string pointer;
  std::size_t next = 0;

  [[noreturn]] void fail(std::string_view name, const std::string& text) const {
    throw JsonFault(fmt::format("{}/{}", pointer, next - 1), fmt::format("{}: {}", name, text));
  }
  const nlohmann::json& take(std::string_view name) {
    ++next;
    if (next > row.size()) fail(name, "missing");
    return row[next - 1];
  }
  std::int64_t integer(std::string_view name, std::int64_t least, std::int64_t most) {
    const JsonValue value(take(name));
    const std::optional<std::int64_t> number = value.whole();
    if (!number || *number < least || *number > most)
      fail(name,
           fmt::format("{}, expected an integer from {} to {}", value.describe(), least, most));
    return *number;
  }
  std::string_view text(std::string_view name) {
    const JsonValue value(take(name));
    if (!value.is_string()) fail(name, value.describe() + ", expected a string");
    return value.text();
  }
  std::uint64_t hexadecimal(std::string_view name) {
    const std::string_view digits = text(name);
    std::uint64_t value = 0;
    const char* end = digits.data() + digits.size();
    const auto [stopped, code] = std::from_chars(digits.data(), end, value, 16);
    if (digits.size() != 16 || stopped != end || code != std::errc{})
      fail(name, fmt::format("{}, expected 16 hexadecimal digits", quoted_text(digits)));
    return value;
  }
  Rule rule(std::string_view name) {
    const std::string_view slug = text(name);
    for (const RuleInfo& info : rule_table())
      if (info.slug == slug) return info.rule;
    fail(name, fmt::format("{} is not a rule", quoted_text(slug)));
  }

  template <class T>
  void operator()(std::string_view name, T& member) {
    if constexpr (std::is_same_v<T, RequestId>) {
      const auto last = static_cast<std::int64_t>(reader.names_.size()) - 1;
      member.value = static_cast<std::int32_t>(integer(name, -1, last));
    } else if constexpr (std::is_same_v<T, Rule>) {
      member = rule(name);
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      member = reader.keep(std::string(text(name)));
    } else if constexpr (std::is_enum_v<T>) {
      member = static_cast<T>(integer(name, 0, num_codes<T>() - 1));
    } else if constexpr (std::is_same_v<T, bool>) {
      member = integer(name, 0, 1) != 0;
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      member = hexadecimal(name);
    } else {
      member = static_cast<T>(
          integer(name, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    }
  }
  template <class T>
  void operator()(std::string_view name, std::vector<T>& list) {
    const nlohmann::json& value = take(name);
    const std::string place = fmt::format("{}/{}", pointer, next - 1);
    if constexpr (std::is_arithmetic_v<T>)
      numbers(value, place, list);
    else
      rows(value, place, list,
           [](auto& item, auto& visit) { fields::fields_inside(item)(item, visit); });
  }
  static void expect_list(const nlohmann::json& value, const std::string& place) {
    if (!value.is_array())
      throw JsonFault(place, JsonValue(value).describe() + ", expected an array");
  }
  template <class T>
  void numbers(const nlohmann::json& value, const std::string& place, std::vector<T>& list) {
    list.clear();
    expect_list(value, place);
    Unpacker unpack{reader, value, place};
    for (std::size_t i = 0; i < value.size(); ++i) unpack("values", list.emplace_back());
  }
  template <class T, class Fields>
  void rows(const nlohmann::json& value, const std::string& place, std::vector<T>& list,
            Fields fields) {
    list.clear();
    expect_list(value, place);
    for (std::size_t i = 0; i < value.size(); ++i)
      one(value[i], fmt::format("{}/{}", place, i), list.emplace_back(), fields);
  }
  template <class T, class Fields>
  void one(const nlohmann::json& value, const std::string& place, T& item, Fields fields) {
    expect_list(value, place);
    Unpacker unpack{reader, value, place};
    fields(item, unpack);
    if (unpack.next < value.size())
      throw JsonFault(place, fmt::format("{} elements, expected {}", value.size(), unpack.next));
  }
};

Result<SessionHeader> RecordJsonlReader::read_header(std::string_view line,
                                                     std::int64_t line_number) {
  const auto parsed = parse(line, line_number);
  if (!parsed.ok()) return parsed.error();
  return read_json(
      place(), [&] { return header_of(parsed.value()); }, ErrorKind::corrupt);
}

Result<SessionHeader> RecordJsonlReader::header_of(const Json& object) {
  const auto version = object.find("hybridscope_session");
  if (version == object.end())
    throw JsonFault("/",
                    "no header of a session, expected \"hybridscope_session\" (a trace is judged: "
                    "hybridscope judge)");
  if (*version != kRecordJsonlVersion)
    throw JsonFault("/hybridscope_session",
                    fmt::format("version {}, this program reads {}", JsonValue(*version).describe(),
                                kRecordJsonlVersion));
  RecordJsonlWriter expected([](RequestId) { return std::string(); });
  const nlohmann::json columns = nlohmann::json::parse(expected.header({}))["columns"];
  nlohmann::json found = object.value("columns", nlohmann::json());
  // Earlier programs called the field `group` by its column in session files, `grp`.
  for (nlohmann::json& list : found)
    for (nlohmann::json& name : list)
      if (name == "grp") name = "group";
  // A list that is newer than the format.
  if (found.is_object() && !found.contains("token_terms"))
    found["token_terms"] = columns["token_terms"];
  if (found != columns) throw JsonFault("/columns", "other columns than version 1 has");
  for (const char* key : {"kind", "level"})
    if (!object.contains(key)) throw JsonFault(std::string("/") + key, "missing");
  SessionInfo info;
  SessionHeader& header = info.header;
  // A file without `check` and `digest_version` was written before version 2 of the digests.
  const JsonValue top(object);
  header = {.name = text_at(top, "name"),
            .kind = word_at(top, "kind", session_kind_name, {SessionKind::run, SessionKind::judge}),
            .level = word_at(top, "level", record_level_name,
                             {RecordLevel::counts, RecordLevel::blocks, RecordLevel::full}),
            .check = word_at(top, "check", check_scope_name, {CheckScope::step, CheckScope::all}),
            .digest_version = top.int32_at("digest_version", {0, INT32_MAX}).value_or(1),
            .keeps_count_resets = top.boolean_at("keeps_count_resets").value_or(false),
            .source = text_at(top, "source"),
            .model = text_at(top, "model"),
            .engine = canonical_profile_name(text_at(top, "engine")),
            .plan = text_at(top, "plan"),
            .config = {},
            .parent_name = text_at(top, "parent_name"),
            .forked_at = top.int64_at("forked_at", {0, INT64_MAX}).value_or(0)};
  auto config = read_session_config(info, place());
  if (!config.ok()) return config.error();
  header.config = std::move(config).value();
  limits_ = block_limits(header.config);
  level_ = header.level;
  if (const auto language = object.find("language"); language != object.end()) {
    auto read = read_speech_info(*language);
    if (!read.ok()) throw JsonFault("/language", read.error().message);
    header.language = language_ = std::move(read).value();
  }
  return header;
}

void RecordJsonlReader::read_names(const Json& object) {
  const auto names = JsonValue(object).find("names");
  if (!names) return;
  if (!names->is_array()) names->fail(names->describe() + ", expected an array");
  names->each_element([&](const JsonValue& entry) {
    if (!entry.is_array() || entry.size() != 2 || !entry[kSecond].is_string())
      entry.fail("expected [number, name]");
    const std::optional<std::int64_t> number = entry[kFirst].whole();
    if (!number || *number < 0 || *number > std::ssize(names_) + kMaxNamesAhead)
      entry[kFirst].fail(fmt::format("{} is not a number of a request, {} are named before",
                                     entry[kFirst].describe(), names_.size()));
    const auto id = static_cast<std::size_t>(*number);
    if (id >= names_.size()) names_.resize(id + 1);
    names_[id] = entry[kSecond].string();
    if (names_[id].size() > kMaxRequestNameBytes)
      entry[kSecond].fail(fmt::format("a name of {} bytes, expected at most {}", names_[id].size(),
                                      kMaxRequestNameBytes));
  });
}

void RecordJsonlReader::read_end(const Json& object) {
  using enum SessionStatus;
  const JsonValue top(object);
  SessionEnd end{.status = word_at(top, "end", session_status_name,
                                   {recording, complete, stopped, interrupted, failed}),
                 .reason = text_at(top, "reason"),
                 .note = text_at(top, "note"),
                 .bookmarks = {},
                 .num_steps = top.int64_at("num_steps", {0, INT64_MAX}).value_or(-1)};
  if (std::cmp_not_equal(end.num_steps, steps_.size()))
    throw JsonFault(
        "/num_steps",
        fmt::format("{}, but {} steps came before",
                    end.num_steps < 0 ? "missing" : std::to_string(end.num_steps), steps_.size()));
  if (Status fits = check_note(end.note); !fits.ok())
    throw JsonFault("/note", fits.error().message);
  if (const auto bookmarks = top.find("bookmarks")) {
    if (!bookmarks->is_array()) bookmarks->fail(bookmarks->describe() + ", expected an array");
    bookmarks->each_element(
        [&](const JsonValue& entry) { end.bookmarks.push_back(bookmark_of(entry, steps_)); });
  }
  end_ = std::move(end);
}

void RecordJsonlReader::read_spoken(const Json& object, StepRecord& record) const {
  if (!language_) return;
  record.speech.step = record.trace.step;
  const auto found = object.find("speech");
  if (found == object.end()) return;
  auto speech = read_speech(*found, record.trace.step,
                            {.num_requests = static_cast<std::int32_t>(names_.size()),
                             .num_groups = limits_.num_groups,
                             .num_blocks = limits_.num_blocks,
                             .num_layers = static_cast<std::int32_t>(language_->layers.size()),
                             .vocab_size = language_->vocab_size});
  if (!speech.ok()) throw JsonFault("/speech", speech.error().message);
  record.speech = std::move(speech).value();
}

Result<bool> RecordJsonlReader::read_step(std::string_view line, std::int64_t line_number,
                                          StepRecord& record) {
  if (end_)
    return Error{ErrorKind::corrupt, fmt::format("{}:{}: a line behind the last one of the session",
                                                 file_, line_number)};
  const auto parsed = parse(line, line_number);
  if (!parsed.ok()) return parsed.error();
  return read_json(
      place(), [&] { return step_of(parsed.value(), record); }, ErrorKind::corrupt);
}

bool RecordJsonlReader::step_of(const Json& object, StepRecord& record) {
  if (object.contains("end")) {
    read_end(object);
    return false;
  }
  record.clear();
  const auto step = JsonValue(object).find("step");
  const auto number = step ? step->whole() : std::nullopt;
  const std::int64_t last_step = steps_.empty() ? 0 : steps_.back();
  if (!number || *number <= last_step)
    throw JsonFault("/step", fmt::format("{}, expected a number above {}",
                                         step ? step->describe() : "missing", last_step));
  read_names(object);
  const Json none = Json::array();
  Unpacker unpack{*this, none, ""};
  fields::for_each_single(record, [&](const char* name, auto& row, auto fields) {
    const auto found = object.find(name);
    unpack.one(found == object.end() ? none : *found, std::string("/") + name, row, fields);
  });
  fields::for_each_list(record, [&](const char* name, auto& list, auto fields) {
    const auto found = object.find(name);
    unpack.rows(found == object.end() ? none : *found, std::string("/") + name, list, fields);
  });
  record.trace.step = *number;
  for (Finding& finding : record.findings) finding.step = *number;
  for (StateWrite& write : record.writes) write.event.step = static_cast<std::int32_t>(*number);
  check(record);
  read_spoken(object, record);
  steps_.push_back(*number);
  return true;
}

std::string RecordJsonlReader::request_name(RequestId request) const {
  const auto id = static_cast<std::size_t>(request.value);
  return request.value >= 0 && id < names_.size() ? names_[id] : std::string();
}

}  // namespace hybridscope
