#include "sessions/breakpoint/break_condition.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

namespace hybridscope {

bool BreakOption::asks_for_help() const {
  return std::find(expressions.begin(), expressions.end(), "help") != expressions.end();
}

Result<BreakConditions> BreakConditions::make(const BreakOption& option) {
  BreakConditions breakpoints;
  breakpoints.wanted_hits_ = option.hits;
  for (const std::string& text : option.expressions) {
    auto condition = BreakCondition::parse(text);
    if (!condition.ok()) return invalid_input("--break: " + condition.error().message);
    breakpoints.conditions_.push_back(std::move(condition).value());
    breakpoints.num_hits_.push_back(0);
  }
  return breakpoints;
}

bool BreakConditions::reads_writes() const {
  return std::any_of(conditions_.begin(), conditions_.end(),
                     [](const BreakCondition& condition) { return condition.reads_writes(); });
}

void BreakConditions::look_at(const BreakStep& step, const RequestName& name) {
  for (std::size_t i = 0; i < conditions_.size(); ++i) {
    const auto hit = conditions_[i].holds(step, name);
    if (!hit) continue;
    if (++num_hits_[i] == wanted_hits_ && !stopped_)
      stopped_ = BreakStop{
          .step = step.trace.step, .expression = conditions_[i].text(), .words = hit->words};
  }
}

std::string BreakConditions::describe() const {
  std::string lines;
  for (std::size_t i = 0; i < conditions_.size(); ++i)
    lines += fmt::format("--break '{}': {}\n", conditions_[i].text(),
                         num_hits_[i] == 0   ? "never held"
                         : num_hits_[i] == 1 ? "held in 1 step"
                                             : fmt::format("held in {} steps", num_hits_[i]));
  return lines;
}

Result<BreakQuery> BreakQuery::parse(std::string_view field, std::string_view where) {
  const auto place = parse_break_field(field, break_kinds());
  if (!place.ok()) return place.error();
  auto condition = BreakCondition::parse(where, place.value().kind);
  if (!condition.ok()) return condition.error();
  return BreakQuery(place.value(), std::move(condition).value());
}

const BreakField& BreakQuery::field() const {
  return where_.kind(place_.kind).fields[static_cast<std::size_t>(place_.field)];
}

std::vector<std::int64_t> BreakQuery::values(const BreakStep& step, const RequestName& name) {
  std::set<std::int64_t> values;
  where_.pick_each(step, name, [&](const BreakElement& element) {
    values.insert(element.values[static_cast<std::size_t>(place_.field)]);
  });
  return {values.begin(), values.end()};
}

namespace {

// Wraps around on overflow, which is undefined for signed integers.
std::int64_t wrapped(BreakOp op, std::int64_t left, std::int64_t right) {
  const auto a = static_cast<std::uint64_t>(left);
  const auto b = static_cast<std::uint64_t>(right);
  if (op == BreakOp::add) return static_cast<std::int64_t>(a + b);
  if (op == BreakOp::subtract) return static_cast<std::int64_t>(a - b);
  return static_cast<std::int64_t>(a * b);
}

// Division by 0 gives 0; the smallest number divided by -1 stays the same.
std::int64_t divided(BreakOp op, std::int64_t left, std::int64_t right) {
  if (right == 0) return 0;
  if (right == -1) return op == BreakOp::divide ? wrapped(BreakOp::subtract, 0, left) : 0;
  return op == BreakOp::divide ? left / right : left % right;
}

}  // namespace

bool BreakCondition::is_needed(std::int32_t kind) const {
  return kind == picked_kind_ ||
         std::any_of(tree_.nodes.begin(), tree_.nodes.end(),
                     [kind](const BreakNode& node) { return node.kind == kind; });
}

void BreakCondition::find_quantified() {
  for (std::int32_t kind = 1; kind < static_cast<std::int32_t>(kinds_.size()); ++kind)
    if (kind != picked_kind_ &&
        std::any_of(tree_.nodes.begin(), tree_.nodes.end(), [kind](const BreakNode& node) {
          return node.op == BreakOp::field && node.kind == kind;
        }))
      quantified_.push_back(kind);
  elements_.resize(kinds_.size());
  counts_.resize(kinds_.size());
  picked_.resize(kinds_.size());
}

BreakCondition::Value BreakCondition::value(const BreakNode& node) const {
  switch (node.op) {
    case BreakOp::constant: return node.value;
    case BreakOp::exists: return counts_[static_cast<std::size_t>(node.kind)] > 0 ? 1 : 0;
    case BreakOp::field: {
      const BreakElement* element = picked_[static_cast<std::size_t>(node.kind)];
      if (element == nullptr) return std::nullopt;
      return element->values[static_cast<std::size_t>(node.field)];
    }
    case BreakOp::is_request: {
      const Value id = value(tree_.nodes[static_cast<std::size_t>(node.left)]);
      if (!id) return std::nullopt;
      const bool called =
          *id >= 0 && (*name_)(RequestId{static_cast<std::int32_t>(*id)}) == node.text;
      return called == (node.value == 0) ? 1 : 0;
    }
    case BreakOp::either: return is_true(node.left) || is_true(node.right) ? 1 : 0;
    case BreakOp::both: return is_true(node.left) && is_true(node.right) ? 1 : 0;
    case BreakOp::negate: {
      const Value inside = value(tree_.nodes[static_cast<std::size_t>(node.left)]);
      if (!inside) return std::nullopt;
      return *inside == 0 ? 1 : 0;
    }
    case BreakOp::minus: {
      const Value inside = value(tree_.nodes[static_cast<std::size_t>(node.left)]);
      if (!inside) return std::nullopt;
      return wrapped(BreakOp::subtract, 0, *inside);
    }
    default: return binary(node);
  }
}

BreakCondition::Value BreakCondition::binary(const BreakNode& node) const {
  const Value left = value(tree_.nodes[static_cast<std::size_t>(node.left)]);
  const Value right = value(tree_.nodes[static_cast<std::size_t>(node.right)]);
  if (!left || !right) return std::nullopt;
  switch (node.op) {
    case BreakOp::equal: return *left == *right ? 1 : 0;
    case BreakOp::unequal: return *left != *right ? 1 : 0;
    case BreakOp::less: return *left < *right ? 1 : 0;
    case BreakOp::less_equal: return *left <= *right ? 1 : 0;
    case BreakOp::greater: return *left > *right ? 1 : 0;
    case BreakOp::greater_equal: return *left >= *right ? 1 : 0;
    case BreakOp::divide:
    case BreakOp::remainder: return divided(node.op, *left, *right);
    default: return wrapped(node.op, *left, *right);
  }
}

// Picks one element of each kind from `place` on. Elements that belong to requests all belong to
// one request.
bool BreakCondition::pick(std::size_t place, RequestId request) {
  if (place == quantified_.size())
    return is_true(static_cast<std::int32_t>(tree_.nodes.size()) - 1);
  const auto kind = static_cast<std::size_t>(quantified_[place]);
  bool found = false;
  for (std::size_t i = 0; i < counts_[kind]; ++i) {
    const BreakElement& element = elements_[kind][i];
    const bool owned = element.request.value >= 0;
    if (owned && request.value >= 0 && element.request != request) continue;
    found = true;
    picked_[kind] = &element;
    if (pick(place + 1, owned ? element.request : request)) return true;
  }
  picked_[kind] = nullptr;
  return !found && pick(place + 1, request);
}

std::string BreakCondition::field_words(const BreakNode& node, const RequestName& name) const {
  const BreakField& field =
      kinds_[static_cast<std::size_t>(node.kind)].fields[static_cast<std::size_t>(node.field)];
  const Value found = value(node);
  if (!found) return {};
  if (field.type == BreakType::flag)
    return fmt::format("{}{}", *found != 0 ? "" : "not ", field.name);
  return fmt::format("{} {}", field.name, break_value_words(field, *found, name));
}

namespace {

// "copy of A", or for a decision that moves nothing "decision of A (same column, no copy)".
std::string element_words(const BreakKind& kind, const BreakElement& element,
                          const RequestName& name) {
  if (kind.name.empty()) return {};
  const auto value = [&](std::string_view field) {
    const auto found = std::ranges::find(kind.fields, field, &BreakField::name);
    return std::pair{found, element.values[static_cast<std::size_t>(found - kind.fields.begin())]};
  };
  const bool moves = kind.name != "copy" || value("copies").second != 0;
  std::string words = moves ? std::string(kind.name) : "decision";
  if (element.request.value >= 0) words += " of " + name(element.request);
  if (moves) return words;
  const auto [field, outcome] = value("outcome");
  std::string why = break_value_words(*field, outcome, name);
  std::ranges::replace(why, '_', ' ');
  return fmt::format("{} ({}, no copy)", words, why);
}

}  // namespace

BreakHit BreakCondition::hit(const RequestName& name) const {
  BreakHit hit;
  std::vector<std::pair<std::int32_t, std::string>> shown;  // kind, text of a field
  for (const BreakNode& node : tree_.nodes) {
    if (node.op != BreakOp::field) continue;
    std::pair<std::int32_t, std::string> words{node.kind, field_words(node, name)};
    if (!words.second.empty() && std::find(shown.begin(), shown.end(), words) == shown.end())
      shown.push_back(std::move(words));
  }
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
    const BreakElement* element = picked_[kind];
    std::string fields;
    for (const auto& [of, words] : shown)
      if (of == static_cast<std::int32_t>(kind)) fields += (fields.empty() ? "" : ", ") + words;
    if (fields.empty() || element == nullptr) continue;
    if (element->request.value >= 0) hit.request = element->request;
    if (kinds_[kind].fields.front().name == "block")
      hit.block = static_cast<std::int32_t>(element->values.front());
    if (!hit.words.empty()) hit.words += "; ";
    hit.words += element_words(kinds_[kind], *element, name);
    hit.words += (kinds_[kind].name.empty() ? "" : ": ") + fields;
  }
  return hit;
}

Result<BreakCondition> BreakCondition::parse(std::string_view text, std::int32_t picked_kind) {
  BreakCondition condition;
  condition.text_ = text;
  condition.picked_kind_ = picked_kind;
  auto tree = parse_break(condition.text_, condition.kinds_);
  if (!tree.ok()) return tree.error();
  condition.tree_ = std::move(tree).value();
  condition.find_quantified();
  return condition;
}

bool BreakCondition::reads_writes() const {
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind)
    if (kinds_[kind].reads_writes && is_needed(static_cast<std::int32_t>(kind))) return true;
  return false;
}

void BreakCondition::collect(const BreakStep& step, const RequestName& name) {
  name_ = &name;
  std::fill(picked_.begin(), picked_.end(), nullptr);
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind)
    counts_[kind] = is_needed(static_cast<std::int32_t>(kind))
                        ? kinds_[kind].collect(step, elements_[kind])
                        : 0;
  picked_[0] = counts_[0] > 0 ? &elements_[0].front() : nullptr;
}

std::optional<BreakHit> BreakCondition::holds(const BreakStep& step, const RequestName& name) {
  collect(step, name);
  if (!pick(0, RequestId{})) return std::nullopt;
  return hit(name);
}

void BreakCondition::pick_each(const BreakStep& step, const RequestName& name,
                               const std::function<void(const BreakElement&)>& visit) {
  collect(step, name);
  const auto kind = static_cast<std::size_t>(picked_kind_);
  for (std::size_t i = 0; i < counts_[kind]; ++i) {
    const BreakElement& element = elements_[kind][i];
    picked_[kind] = &element;
    if (pick(0, element.request)) visit(element);
  }
}

}  // namespace hybridscope
