// What break expressions can ask about a step: its own numbers, and the lists of things that it
// decided, did and found. Names are those of sessions/record/step_fields.h.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/check/finding.h"
#include "core/check/state_write.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// A step as expressions see it.
struct BreakStep {
  const StepTrace& trace;
  std::span<const Finding> findings;
  std::span<const StateWrite> writes;  // empty where the checker keeps no log of them
};

enum class BreakType : std::uint8_t {
  number,
  flag,
  word,     // of an enum: compared with its names
  request,  // compared with names of requests
};

struct BreakField {
  std::string name;
  BreakType type = BreakType::number;
  std::vector<std::string_view> words;  // [codes] of an enum
};

// One thing of a list: the values of its fields.
struct BreakElement {
  RequestId request{};               // whose it is, -1: nobody's
  std::int32_t index = -1;           // in its list
  std::vector<std::int64_t> values;  // [fields of its kind]
};

// A kind of things, one row of the table.
struct BreakKind {
  std::string_view name;     // "copy"; empty: the step itself
  std::string_view meaning;  // for help
  std::vector<BreakField> fields;
  // Are fields written without the name of the kind?
  bool is_bare = false;
  // Does it need the checker's log of writes?
  bool reads_writes = false;
  // Fills `elements`, whose storage is reused, and returns how many there are.
  std::function<std::size_t(const BreakStep&, std::vector<BreakElement>&)> collect;
};

// The table of kinds; element 0 is the step itself, which is always there once.
std::vector<BreakKind> break_kinds();

// How requests are called.
using RequestName = std::function<std::string(RequestId)>;

// A value of the field as it is told: a word, "yes" or "no", a request's name or "nobody", a
// number.
std::string break_value_words(const BreakField& field, std::int64_t value, const RequestName& name);

// Every kind with its fields and their words, as text of at most 100 columns.
std::string break_help();

}  // namespace hybridscope
