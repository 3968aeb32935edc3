#include <fmt/core.h>

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "sessions/record/enum_codes.h"
#include "sessions/record/speech_json.h"
#include "sessions/scenario/engine_profile.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/name_hash.h"
#include "sessions/text/object_reader.h"
#include "storage/record_jsonl.h"
#include "storage/record_lists.h"
#include "storage/session_config.h"

namespace hybridscope {
namespace {

// Requests are numbered in order of arrival. A number far above the named ones is refused, so that
// a damaged line cannot cause huge allocations.
constexpr std::int64_t kMaxNamesAhead = 1 << 16;

template <class E>
std::optional<E> enum_of(std::string_view (*name)(E), std::int32_t count, const std::string& text) {
  for (std::int32_t i = 0; i < count; ++i)
    if (name(static_cast<E>(i)) == text) return static_cast<E>(i);
  return std::nullopt;
}

std::string string_at(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

Error RecordJsonlReader::fault(const std::string& pointer, const std::string& text) const {
  return {ErrorKind::corrupt, fmt::format("{}:{}: {}: {}", file_, line_, pointer, text)};
}

Result<nlohmann::json> RecordJsonlReader::parse(std::string_view line,
                                                std::int64_t line_number) const {
  auto parsed = parse_json({.text = line, .file = file_, .line = static_cast<int>(line_number)});
  if (!parsed.ok()) return parsed.error();
  if (!parsed.value().is_object())
    return Error{ErrorKind::corrupt, fmt::format("{}:{}: {}, expected an object", file_,
                                                 line_number, describe_json(parsed.value()))};
  return parsed;
}

std::string_view RecordJsonlReader::keep(const std::string& text) {
  for (const std::string& known : texts_)
    if (known == text) return known;
  return texts_.emplace_back(text);
}

// Fills the members it visits from the elements of a row. Stops at the first error.
struct RecordJsonlReader::Unpacker {
  RecordJsonlReader& reader;
  const nlohmann::json& row;
  std::string pointer;
  std::optional<Error>& error;
  std::size_t next = 0;

  void fail(std::string_view name, const std::string& text) {
    if (!error)
      error =
          reader.fault(fmt::format("{}/{}", pointer, next - 1), fmt::format("{}: {}", name, text));
  }
  const nlohmann::json* take(std::string_view name) {
    if (error) return nullptr;
    ++next;
    if (next <= row.size()) return &row[next - 1];
    fail(name, "missing");
    return nullptr;
  }
  std::int64_t integer(std::string_view name, std::int64_t least, std::int64_t most) {
    const nlohmann::json* value = take(name);
    if (value == nullptr) return least;
    const std::optional<std::int64_t> number = whole_number(*value);
    if (number && *number >= least && *number <= most) return *number;
    fail(name,
         fmt::format("{}, expected an integer from {} to {}", describe_json(*value), least, most));
    return least;
  }
  const std::string* text(std::string_view name) {
    const nlohmann::json* value = take(name);
    if (value == nullptr) return nullptr;
    if (value->is_string()) return value->get_ptr<const std::string*>();
    fail(name, fmt::format("{}, expected a string", describe_json(*value)));
    return nullptr;
  }
  std::uint64_t hexadecimal(std::string_view name) {
    const std::string* digits = text(name);
    std::uint64_t value = 0;
    if (digits == nullptr) return value;
    const char* end = digits->data() + digits->size();
    const auto [stopped, code] = std::from_chars(digits->data(), end, value, 16);
    if (digits->size() != 16 || stopped != end || code != std::errc{})
      fail(name, fmt::format("{}, expected 16 hexadecimal digits", quoted_text(*digits)));
    return value;
  }
  void rule(std::string_view name, Rule& member) {
    const std::string* slug = text(name);
    if (slug == nullptr) return;
    for (const RuleInfo& info : rule_table())
      if (info.slug == *slug) {
        member = info.rule;
        return;
      }
    fail(name, fmt::format("{} is not a rule", quoted_text(*slug)));
  }

  template <class T>
  void operator()(std::string_view name, T& member) {
    if constexpr (std::is_same_v<T, RequestId>) {
      const auto last = static_cast<std::int64_t>(reader.names_.size()) - 1;
      member.value = static_cast<std::int32_t>(integer(name, -1, last));
    } else if constexpr (std::is_same_v<T, Rule>) {
      rule(name, member);
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      if (const std::string* kept = text(name)) member = reader.keep(*kept);
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
    const nlohmann::json* value = take(name);
    if (value == nullptr) return;
    const std::string place = fmt::format("{}/{}", pointer, next - 1);
    if constexpr (std::is_arithmetic_v<T>)
      numbers(*value, place, list);
    else
      rows(*value, place, list,
           [](auto& item, auto& visit) { fields::fields_inside(item)(item, visit); });
  }
  bool is_list(const nlohmann::json& value, const std::string& place) {
    if (error) return false;
    if (value.is_array()) return true;
    error = reader.fault(place, describe_json(value) + ", expected an array");
    return false;
  }
  template <class T>
  void numbers(const nlohmann::json& value, const std::string& place, std::vector<T>& list) {
    list.clear();
    if (!is_list(value, place)) return;
    Unpacker unpack{reader, value, place, error};
    for (std::size_t i = 0; i < value.size() && !error; ++i) unpack("values", list.emplace_back());
  }
  template <class T, class Fields>
  void rows(const nlohmann::json& value, const std::string& place, std::vector<T>& list,
            Fields fields) {
    list.clear();
    if (!is_list(value, place)) return;
    for (std::size_t i = 0; i < value.size() && !error; ++i)
      one(value[i], fmt::format("{}/{}", place, i), list.emplace_back(), fields);
  }
  template <class T, class Fields>
  void one(const nlohmann::json& value, const std::string& place, T& item, Fields fields) {
    if (!is_list(value, place)) return;
    Unpacker unpack{reader, value, place, error};
    fields(item, unpack);
    if (!error && unpack.next < value.size())
      error =
          reader.fault(place, fmt::format("{} elements, expected {}", value.size(), unpack.next));
  }
};

Result<SessionHeader> RecordJsonlReader::read_header(std::string_view line,
                                                     std::int64_t line_number) {
  line_ = line_number;
  const auto parsed = parse(line, line_number);
  if (!parsed.ok()) return parsed.error();
  const nlohmann::json& object = parsed.value();
  const auto version = object.find("hybridscope_session");
  if (version == object.end())
    return fault("/",
                 "no header of a session, expected \"hybridscope_session\" (a trace is judged: "
                 "hybridscope judge)");
  if (*version != kRecordJsonlVersion)
    return fault("/hybridscope_session", fmt::format("version {}, this program reads {}",
                                                     describe_json(*version), kRecordJsonlVersion));
  RecordJsonlWriter expected([](RequestId) { return std::string(); });
  const nlohmann::json columns = nlohmann::json::parse(expected.header({}))["columns"];
  nlohmann::json found = object.value("columns", nlohmann::json());
  // Earlier programs called the field `group` by its column in session files, `grp`.
  for (nlohmann::json& list : found)
    for (nlohmann::json& name : list)
      if (name == "grp") name = "group";
  if (found != columns) return fault("/columns", "other columns than version 1 has");
  SessionInfo info;
  SessionHeader& header = info.header;
  const auto kind = enum_of(session_kind_name, 2, string_at(object, "kind"));
  const auto level = enum_of(record_level_name, 3, string_at(object, "level"));
  if (!kind) return fault("/kind", "expected \"run\" or \"judge\"");
  if (!level) return fault("/level", "expected \"counts\", \"blocks\" or \"full\"");
  // These members are newer than the format; a file without the first two was written before
  // version 2 of the digests.
  const auto check = object.find("check");
  const auto scope =
      check == object.end() ? CheckScope::step : check_scope_of(string_at(object, "check"));
  if (!scope) return fault("/check", "expected \"step\" or \"all\"");
  const auto digests = object.find("digest_version");
  header = {.name = string_at(object, "name"),
            .kind = *kind,
            .level = *level,
            .check = *scope,
            .digest_version = digests == object.end()
                                  ? 1
                                  : static_cast<std::int32_t>(whole_number(*digests).value_or(0)),
            .keeps_count_resets = object.value("keeps_count_resets", nlohmann::json()) == true,
            .source = string_at(object, "source"),
            .model = string_at(object, "model"),
            .engine = canonical_profile_name(string_at(object, "engine")),
            .plan = string_at(object, "plan"),
            .config = {},
            .parent_name = string_at(object, "parent_name"),
            .forked_at = 0};
  const auto forked_at = object.find("forked_at");
  if (forked_at != object.end()) header.forked_at = whole_number(*forked_at).value_or(0);
  auto config = read_session_config(info, fmt::format("{}:{}", file_, line_));
  if (!config.ok()) return config.error();
  header.config = std::move(config).value();
  limits_ = block_limits(header.config);
  level_ = header.level;
  if (const auto language = object.find("language"); language != object.end()) {
    auto read = read_speech_info(*language);
    if (!read.ok()) return fault("/language", read.error().message);
    header.language = language_ = std::move(read).value();
  }
  return header;
}

Status RecordJsonlReader::read_names(const nlohmann::json& object) {
  const auto names = object.find("names");
  if (names == object.end()) return Ok{};
  for (std::size_t i = 0; names->is_array() && i < names->size(); ++i) {
    const nlohmann::json& entry = (*names)[i];
    const std::string place = fmt::format("/names/{}", i);
    if (!entry.is_array() || entry.size() != 2 || !entry[1].is_string())
      return fault(place, "expected [number, name]");
    const std::optional<std::int64_t> number = whole_number(entry[0]);
    if (!number || *number < 0 || *number > std::ssize(names_) + kMaxNamesAhead)
      return fault(place + "/0", fmt::format("{} is not a number of a request, {} are named before",
                                             describe_json(entry[0]), names_.size()));
    const auto id = static_cast<std::size_t>(*number);
    if (id >= names_.size()) names_.resize(id + 1);
    names_[id] = entry[1].get<std::string>();
    if (names_[id].size() > kMaxRequestNameBytes)
      return fault(place + "/1", fmt::format("a name of {} bytes, expected at most {}",
                                             names_[id].size(), kMaxRequestNameBytes));
  }
  return Ok{};
}

Status RecordJsonlReader::read_end(const nlohmann::json& object) {
  const auto status = enum_of(session_status_name, 5, string_at(object, "end"));
  if (!status) return fault("/end", "no status of a session");
  const auto count = object.find("num_steps");
  if (count == object.end() || whole_number(*count) != num_steps_)
    return fault(
        "/num_steps",
        fmt::format("{}, but {} steps came before",
                    count == object.end() ? "missing" : describe_json(*count), num_steps_));
  end_ = SessionEnd{.status = *status,
                    .reason = string_at(object, "reason"),
                    .note = string_at(object, "note"),
                    .bookmarks = {},
                    .num_steps = num_steps_};
  const nlohmann::json bookmarks = object.value("bookmarks", nlohmann::json::array());
  for (std::size_t i = 0; i < bookmarks.size(); ++i) {
    const nlohmann::json& entry = bookmarks[i];
    const auto step = entry.is_array() && entry.size() == 2 ? whole_number(entry[0]) : std::nullopt;
    if (!step || !entry[1].is_string())
      return fault(fmt::format("/bookmarks/{}", i), "expected [step, note]");
    end_->bookmarks.emplace_back(*step, entry[1].get<std::string>());
  }
  return Ok{};
}

Status RecordJsonlReader::read_spoken(const nlohmann::json& object, StepRecord& record) const {
  const auto found = object.find("speech");
  if (!language_) return Ok{};
  record.speech.step = record.trace.step;
  if (found == object.end()) return Ok{};
  auto speech = read_speech(*found, record.trace.step,
                            {.num_requests = static_cast<std::int32_t>(names_.size()),
                             .num_groups = limits_.num_groups,
                             .num_blocks = limits_.num_blocks,
                             .num_layers = static_cast<std::int32_t>(language_->layers.size()),
                             .vocab_size = language_->vocab_size});
  if (!speech.ok()) return fault("/speech", speech.error().message);
  record.speech = std::move(speech).value();
  return Ok{};
}

Result<bool> RecordJsonlReader::read_step(std::string_view line, std::int64_t line_number,
                                          StepRecord& record) {
  line_ = line_number;
  if (end_)
    return Error{ErrorKind::corrupt,
                 fmt::format("{}:{}: a line behind the last one of the session", file_, line_)};
  const auto parsed = parse(line, line_number);
  if (!parsed.ok()) return parsed.error();
  const nlohmann::json& object = parsed.value();
  if (object.contains("end")) {
    if (Status end = read_end(object); !end.ok()) return end.error();
    return false;
  }
  record.clear();
  const auto step = object.find("step");
  const auto number = step == object.end() ? std::nullopt : whole_number(*step);
  if (!number || *number <= last_step_)
    return fault("/step",
                 fmt::format("{}, expected a number above {}",
                             step == object.end() ? "missing" : describe_json(*step), last_step_));
  if (Status names = read_names(object); !names.ok()) return names.error();
  std::optional<Error> error;
  const nlohmann::json none = nlohmann::json::array();
  Unpacker unpack{*this, none, "", error};
  fields::for_each_single(record, [&](const char* name, auto& row, auto fields) {
    const auto found = object.find(name);
    unpack.one(found == object.end() ? none : *found, std::string("/") + name, row, fields);
  });
  fields::for_each_list(record, [&](const char* name, auto& list, auto fields) {
    const auto found = object.find(name);
    unpack.rows(found == object.end() ? none : *found, std::string("/") + name, list, fields);
  });
  if (error) return *error;
  record.trace.step = last_step_ = *number;
  for (Finding& finding : record.findings) finding.step = *number;
  for (StateWrite& write : record.writes) write.event.step = static_cast<std::int32_t>(*number);
  if (Status sound = check(record); !sound.ok()) return sound.error();
  if (Status spoken = read_spoken(object, record); !spoken.ok()) return spoken.error();
  ++num_steps_;
  return true;
}

std::string RecordJsonlReader::request_name(RequestId request) const {
  const auto id = static_cast<std::size_t>(request.value);
  return request.value >= 0 && id < names_.size() ? names_[id] : std::string();
}

}  // namespace hybridscope
