#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
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
#include "storage/session_text.h"

namespace hybridscope {
namespace {

// Requests are numbered in order of arrival. A number far above the named ones is refused, so that
// a damaged line cannot cause huge allocations.
constexpr std::int64_t kMaxNamesAhead = 1 << 16;

// Members of an object that files of an earlier program may lack. Keeps the first that has another
// type than it should.
class OptionalMembers {
 public:
  // `place`: "FILE:LINE". Requires: an object.
  OptionalMembers(const nlohmann::json& object, std::string place)
      : object_(object), errors_(std::move(place)) {}

  std::string text(const char* key) {
    const auto member = find(key);
    return member ? read_string(*member, errors_) : std::string();
  }
  bool flag(const char* key) {
    const auto member = find(key);
    return member && read_boolean(*member, errors_);
  }
  std::int64_t integer(const char* key, const IntegerRange& range, std::int64_t absent) {
    const auto member = find(key);
    return member ? read_integer(*member, range, errors_) : absent;
  }
  // One of `words`, of which the first stands for a member that is not there.
  template <class E>
  E word(const char* key, std::string_view (*name)(E), std::initializer_list<E> words) {
    const auto member = find(key);
    if (!member) return *words.begin();
    std::string expected;
    for (const E word : words) {
      if (*member->value == nlohmann::json(std::string(name(word)))) return word;
      expected += fmt::format("{}\"{}\"", expected.empty() ? "" : ", ", name(word));
    }
    errors_.fail(member->pointer, fmt::format("expected one of {}, found {}", expected,
                                              describe_json(*member->value)));
    return *words.begin();
  }
  Status status() const {
    if (!errors_.failed()) return Ok{};
    return Error{ErrorKind::corrupt, errors_.error().message};
  }

 private:
  std::optional<JsonPlace> find(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) return std::nullopt;
    return JsonPlace{.value = &*found, .pointer = child_pointer("", key)};
  }

  const nlohmann::json& object_;
  JsonErrors errors_;
};

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
  // A list that is newer than the format.
  if (found.is_object() && !found.contains("token_terms"))
    found["token_terms"] = columns["token_terms"];
  if (found != columns) return fault("/columns", "other columns than version 1 has");
  for (const char* key : {"kind", "level"})
    if (!object.contains(key)) return fault(std::string("/") + key, "missing");
  SessionInfo info;
  SessionHeader& header = info.header;
  OptionalMembers members(object, fmt::format("{}:{}", file_, line_));
  // A file without `check` and `digest_version` was written before version 2 of the digests.
  header = {.name = members.text("name"),
            .kind = members.word("kind", session_kind_name, {SessionKind::run, SessionKind::judge}),
            .level = members.word("level", record_level_name,
                                  {RecordLevel::counts, RecordLevel::blocks, RecordLevel::full}),
            .check = members.word("check", check_scope_name, {CheckScope::step, CheckScope::all}),
            .digest_version =
                static_cast<std::int32_t>(members.integer("digest_version", {0, INT32_MAX}, 1)),
            .keeps_count_resets = members.flag("keeps_count_resets"),
            .source = members.text("source"),
            .model = members.text("model"),
            .engine = canonical_profile_name(members.text("engine")),
            .plan = members.text("plan"),
            .config = {},
            .parent_name = members.text("parent_name"),
            .forked_at = members.integer("forked_at", {0, INT64_MAX}, 0)};
  if (Status typed = members.status(); !typed.ok()) return typed.error();
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
  if (!names->is_array()) return fault("/names", describe_json(*names) + ", expected an array");
  for (std::size_t i = 0; i < names->size(); ++i) {
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
  using enum SessionStatus;
  OptionalMembers members(object, fmt::format("{}:{}", file_, line_));
  SessionEnd end{.status = members.word("end", session_status_name,
                                        {recording, complete, stopped, interrupted, failed}),
                 .reason = members.text("reason"),
                 .note = members.text("note"),
                 .bookmarks = {},
                 .num_steps = members.integer("num_steps", {0, INT64_MAX}, -1)};
  if (Status typed = members.status(); !typed.ok()) return typed;
  if (std::cmp_not_equal(end.num_steps, steps_.size()))
    return fault(
        "/num_steps",
        fmt::format("{}, but {} steps came before",
                    end.num_steps < 0 ? "missing" : std::to_string(end.num_steps), steps_.size()));
  if (Status fits = check_note(end.note); !fits.ok()) return fault("/note", fits.error().message);
  if (const auto bookmarks = object.find("bookmarks"); bookmarks != object.end()) {
    if (!bookmarks->is_array())
      return fault("/bookmarks", describe_json(*bookmarks) + ", expected an array");
    for (std::size_t i = 0; i < bookmarks->size(); ++i)
      if (Status read = read_bookmark((*bookmarks)[i], fmt::format("/bookmarks/{}", i), end);
          !read.ok())
        return read;
  }
  end_ = std::move(end);
  return Ok{};
}

Status RecordJsonlReader::read_bookmark(const nlohmann::json& entry, const std::string& place,
                                        SessionEnd& end) const {
  const auto step = entry.is_array() && entry.size() == 2 ? whole_number(entry[0]) : std::nullopt;
  if (!step || !entry[1].is_string())
    return fault(place, describe_json(entry) + ", expected [step, note]");
  if (!std::binary_search(steps_.begin(), steps_.end(), *step))
    return fault(place + "/0", fmt::format("no step {} came before", *step));
  const auto& note = entry[1].get_ref<const std::string&>();
  if (Status fits = check_note(note); !fits.ok()) return fault(place + "/1", fits.error().message);
  end.bookmarks.emplace_back(*step, note);
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
  const std::int64_t last_step = steps_.empty() ? 0 : steps_.back();
  if (!number || *number <= last_step)
    return fault("/step",
                 fmt::format("{}, expected a number above {}",
                             step == object.end() ? "missing" : describe_json(*step), last_step));
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
  record.trace.step = *number;
  for (Finding& finding : record.findings) finding.step = *number;
  for (StateWrite& write : record.writes) write.event.step = static_cast<std::int32_t>(*number);
  if (Status sound = check(record); !sound.ok()) return sound.error();
  if (Status spoken = read_spoken(object, record); !spoken.ok()) return spoken.error();
  steps_.push_back(*number);
  return true;
}

std::string RecordJsonlReader::request_name(RequestId request) const {
  const auto id = static_cast<std::size_t>(request.value);
  return request.value >= 0 && id < names_.size() ? names_[id] : std::string();
}

}  // namespace hybridscope
