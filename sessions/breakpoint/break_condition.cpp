#include "sessions/breakpoint/break_condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sessions/breakpoint/break_parser.h"

namespace hybridscope {
namespace {

// Wraps around instead of being undefined.
std::int64_t wrapped(BreakOp op, std::int64_t left, std::int64_t right) {
  const auto a = static_cast<std::uint64_t>(left);
  const auto b = static_cast<std::uint64_t>(right);
  if (op == BreakOp::add) return static_cast<std::int64_t>(a + b);
  if (op == BreakOp::subtract) return static_cast<std::int64_t>(a - b);
  return static_cast<std::int64_t>(a * b);
}

// Dividing by 0 gives 0; by -1 the smallest number stays what it is.
std::int64_t divided(BreakOp op, std::int64_t left, std::int64_t right) {
  if (right == 0) return 0;
  if (right == -1) return op == BreakOp::divide ? wrapped(BreakOp::subtract, 0, left) : 0;
  return op == BreakOp::divide ? left / right : left % right;
}

// A value, or nothing: a field of something that the step does not have.
using Value = std::optional<std::int64_t>;

}  // namespace

struct BreakCondition::Impl {
  std::string text;
  std::vector<BreakKind> kinds = break_kinds();
  BreakTree tree;
  std::vector<std::int32_t> quantified;  // kinds that a field is asked of, without the step itself
  std::vector<std::vector<BreakElement>> elements;  // [kinds], storage is reused
  std::vector<std::size_t> counts;                  // [kinds]
  std::vector<const BreakElement*> picked;          // [kinds], null: the step has none
  const std::function<std::string(RequestId)>* name = nullptr;

  void find_quantified();
  bool uses(std::int32_t kind) const;
  bool pick(std::size_t place, RequestId request);
  Value value(const BreakNode& node) const;
  Value binary(const BreakNode& node) const;
  bool is_true(std::int32_t node) const {
    return value(tree.nodes[static_cast<std::size_t>(node)]).value_or(0) != 0;
  }
  BreakHit hit() const;
  std::string field_words(const BreakNode& node) const;
};

bool BreakCondition::Impl::uses(std::int32_t kind) const {
  return std::any_of(tree.nodes.begin(), tree.nodes.end(),
                     [&](const BreakNode& node) { return node.kind == kind; });
}

void BreakCondition::Impl::find_quantified() {
  for (std::int32_t kind = 1; kind < static_cast<std::int32_t>(kinds.size()); ++kind)
    if (std::any_of(tree.nodes.begin(), tree.nodes.end(), [&](const BreakNode& node) {
          return node.op == BreakOp::field && node.kind == kind;
        }))
      quantified.push_back(kind);
  elements.resize(kinds.size());
  counts.resize(kinds.size());
  picked.resize(kinds.size());
}

Value BreakCondition::Impl::value(const BreakNode& node) const {
  switch (node.op) {
    case BreakOp::constant:
      return node.value;
    case BreakOp::exists:
      return counts[static_cast<std::size_t>(node.kind)] > 0 ? 1 : 0;
    case BreakOp::field: {
      const BreakElement* element = picked[static_cast<std::size_t>(node.kind)];
      if (element == nullptr) return std::nullopt;
      return element->values[static_cast<std::size_t>(node.field)];
    }
    case BreakOp::is_request: {
      const Value id = value(tree.nodes[static_cast<std::size_t>(node.left)]);
      if (!id) return std::nullopt;
      const bool called =
          *id >= 0 && (*name)(RequestId{static_cast<std::int32_t>(*id)}) == node.text;
      return called == (node.value == 0) ? 1 : 0;
    }
    case BreakOp::either:
      return is_true(node.left) || is_true(node.right) ? 1 : 0;
    case BreakOp::both:
      return is_true(node.left) && is_true(node.right) ? 1 : 0;
    case BreakOp::negate: {
      const Value inside = value(tree.nodes[static_cast<std::size_t>(node.left)]);
      if (!inside) return std::nullopt;
      return *inside == 0 ? 1 : 0;
    }
    case BreakOp::minus: {
      const Value inside = value(tree.nodes[static_cast<std::size_t>(node.left)]);
      if (!inside) return std::nullopt;
      return wrapped(BreakOp::subtract, 0, *inside);
    }
    default:
      return binary(node);
  }
}

Value BreakCondition::Impl::binary(const BreakNode& node) const {
  const Value left = value(tree.nodes[static_cast<std::size_t>(node.left)]);
  const Value right = value(tree.nodes[static_cast<std::size_t>(node.right)]);
  if (!left || !right) return std::nullopt;
  switch (node.op) {
    case BreakOp::equal:
      return *left == *right ? 1 : 0;
    case BreakOp::unequal:
      return *left != *right ? 1 : 0;
    case BreakOp::less:
      return *left < *right ? 1 : 0;
    case BreakOp::less_equal:
      return *left <= *right ? 1 : 0;
    case BreakOp::greater:
      return *left > *right ? 1 : 0;
    case BreakOp::greater_equal:
      return *left >= *right ? 1 : 0;
    case BreakOp::divide:
    case BreakOp::remainder:
      return divided(node.op, *left, *right);
    default:
      return wrapped(node.op, *left, *right);
  }
}

// Picks one thing of each kind from `place` on; of one request, as far as they belong to requests.
bool BreakCondition::Impl::pick(std::size_t place, RequestId request) {
  if (place == quantified.size()) return is_true(static_cast<std::int32_t>(tree.nodes.size()) - 1);
  const auto kind = static_cast<std::size_t>(quantified[place]);
  bool found = false;
  for (std::size_t i = 0; i < counts[kind]; ++i) {
    const BreakElement& element = elements[kind][i];
    const bool owned = element.request.value >= 0;
    if (owned && request.value >= 0 && element.request != request) continue;
    found = true;
    picked[kind] = &element;
    if (pick(place + 1, owned ? element.request : request)) return true;
  }
  picked[kind] = nullptr;
  return !found && pick(place + 1, request);
}

std::string BreakCondition::Impl::field_words(const BreakNode& node) const {
  const BreakField& field =
      kinds[static_cast<std::size_t>(node.kind)].fields[static_cast<std::size_t>(node.field)];
  const Value found = value(node);
  if (!found) return {};
  if (field.type == BreakType::request)
    return fmt::format(
        "{} {}", field.name,
        *found < 0 ? "nobody" : (*name)(RequestId{static_cast<std::int32_t>(*found)}));
  if (field.type == BreakType::word && *found >= 0 &&
      *found < static_cast<std::int64_t>(field.words.size()))
    return fmt::format("{} {}", field.name, field.words[static_cast<std::size_t>(*found)]);
  if (field.type == BreakType::flag)
    return fmt::format("{}{}", *found != 0 ? "" : "not ", field.name);
  return fmt::format("{} {}", field.name, *found);
}

BreakHit BreakCondition::Impl::hit() const {
  BreakHit hit;
  std::vector<std::pair<std::int32_t, std::string>> shown;  // kind, words of a field
  for (const BreakNode& node : tree.nodes) {
    if (node.op != BreakOp::field) continue;
    std::pair<std::int32_t, std::string> words{node.kind, field_words(node)};
    if (!words.second.empty() && std::find(shown.begin(), shown.end(), words) == shown.end())
      shown.push_back(std::move(words));
  }
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    const BreakElement* element = picked[kind];
    std::string fields;
    for (const auto& [of, words] : shown)
      if (of == static_cast<std::int32_t>(kind)) fields += (fields.empty() ? "" : ", ") + words;
    if (fields.empty() || element == nullptr) continue;
    if (element->request.value >= 0) hit.request = element->request;
    if (kinds[kind].fields.front().name == "block")
      hit.block = static_cast<std::int32_t>(element->values.front());
    if (!hit.words.empty()) hit.words += "; ";
    if (!kinds[kind].name.empty()) hit.words += kinds[kind].name;
    if (!kinds[kind].name.empty() && element->request.value >= 0)
      hit.words += " of " + (*name)(element->request);
    hit.words += (kinds[kind].name.empty() ? "" : ": ") + fields;
  }
  return hit;
}

Result<BreakCondition> BreakCondition::parse(std::string_view text) {
  auto impl = std::make_unique<Impl>();
  impl->text = text;
  auto tree = parse_break(impl->text, impl->kinds);
  if (!tree.ok()) return tree.error();
  impl->tree = std::move(tree).value();
  impl->find_quantified();
  return BreakCondition(std::move(impl));
}

BreakCondition::BreakCondition(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BreakCondition::BreakCondition(BreakCondition&&) noexcept = default;
BreakCondition& BreakCondition::operator=(BreakCondition&&) noexcept = default;
BreakCondition::~BreakCondition() = default;

const std::string& BreakCondition::text() const { return impl_->text; }

bool BreakCondition::reads_writes() const {
  for (std::size_t kind = 0; kind < impl_->kinds.size(); ++kind)
    if (impl_->kinds[kind].reads_writes && impl_->uses(static_cast<std::int32_t>(kind)))
      return true;
  return false;
}

std::optional<BreakHit> BreakCondition::holds(const BreakStep& step,
                                              const std::function<std::string(RequestId)>& name) {
  Impl& impl = *impl_;
  impl.name = &name;
  std::fill(impl.picked.begin(), impl.picked.end(), nullptr);
  for (std::size_t kind = 0; kind < impl.kinds.size(); ++kind)
    impl.counts[kind] = impl.uses(static_cast<std::int32_t>(kind))
                            ? impl.kinds[kind].collect(step, impl.elements[kind])
                            : 0;
  impl.picked[0] = impl.counts[0] > 0 ? &impl.elements[0].front() : nullptr;
  if (!impl.pick(0, RequestId{})) return std::nullopt;
  return impl.hit();
}

}  // namespace hybridscope
