// Instances of JSON's templates that test programs and cold libraries run most, compiled with the
// optimiser: see hybridscope_take_optimised_instances.
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using nlohmann::detail::iterator_input_adapter;

using OfString = iterator_input_adapter<std::string::const_iterator>;
using OfView = iterator_input_adapter<const char*>;

}  // namespace

template class std::vector<char>;
template class std::vector<json>;
template class std::vector<ordered_json>;
template class std::vector<json*>;
template class std::vector<ordered_json*>;
template class std::map<std::string, json, std::less<>>;
template struct nlohmann::ordered_map<std::string, ordered_json>;

template nlohmann::basic_json<>::basic_json(const json&);
template nlohmann::basic_json<>::basic_json(json&&) noexcept;
template json& nlohmann::basic_json<>::operator=(json) noexcept;
template void nlohmann::basic_json<>::push_back(json&&);
template void nlohmann::basic_json<>::json_value::destroy(nlohmann::detail::value_t);
template void nlohmann::basic_json<>::assert_invariant(bool) const noexcept;

template nlohmann::basic_json<nlohmann::ordered_map>::basic_json(const ordered_json&);
template nlohmann::basic_json<nlohmann::ordered_map>::basic_json(ordered_json&&) noexcept;
template ordered_json& nlohmann::basic_json<nlohmann::ordered_map>::operator=(
    ordered_json) noexcept;
template void nlohmann::basic_json<nlohmann::ordered_map>::push_back(ordered_json&&);
template void nlohmann::basic_json<nlohmann::ordered_map>::json_value::destroy(
    nlohmann::detail::value_t);
template void nlohmann::basic_json<nlohmann::ordered_map>::assert_invariant(bool) const noexcept;

template class nlohmann::detail::serializer<json>;
template class nlohmann::detail::serializer<ordered_json>;
template class nlohmann::detail::json_sax_dom_parser<json>;
template class nlohmann::detail::json_sax_dom_parser<ordered_json>;
template class nlohmann::detail::lexer<json, OfString>;
template class nlohmann::detail::lexer<json, OfView>;
template class nlohmann::detail::lexer<ordered_json, OfString>;
template class nlohmann::detail::lexer<ordered_json, OfView>;
template bool nlohmann::detail::parser<json, OfString>::sax_parse_internal(
    nlohmann::detail::json_sax_dom_parser<json>*);
template bool nlohmann::detail::parser<json, OfView>::sax_parse_internal(
    nlohmann::detail::json_sax_dom_parser<json>*);
template bool nlohmann::detail::parser<ordered_json, OfString>::sax_parse_internal(
    nlohmann::detail::json_sax_dom_parser<ordered_json>*);
template bool nlohmann::detail::parser<ordered_json, OfView>::sax_parse_internal(
    nlohmann::detail::json_sax_dom_parser<ordered_json>*);
