#include <pybind11/stl.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "integrations/python/src/bindings.h"
#include "integrations/python/src/locked.h"
#include "integrations/python/src/open_session.h"
#include "integrations/python/src/raise.h"
#include "integrations/python/src/to_python.h"
#include "sessions/job/session_json.h"

namespace hybridscope {
namespace {

namespace py = pybind11;

using LockedSession = Locked<OpenSession>;

template <class Number>
py::bytes packed(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

// (name, "int", int64s as bytes, NULLs as bytes or None), the same with "float", or
// (name, "values", list, None).
py::tuple to_tuple(const QueryColumn& column) {
  if (column.kind() == QueryColumn::Kind::any) {
    py::list values(column.any().size());
    for (std::size_t row = 0; row < column.any().size(); ++row)
      values[row] = to_python(query_value_to_json(column.any()[row]));
    return py::make_tuple(column.name(), "values", values, py::none());
  }
  const py::object missing =
      column.has_missing() ? py::object(packed(column.missing())) : py::none();
  if (column.kind() == QueryColumn::Kind::whole)
    return py::make_tuple(column.name(), "int", packed(column.whole()), missing);
  return py::make_tuple(column.name(), "float", packed(column.real()), missing);
}

py::object value_at(const QueryColumn& column, std::size_t row) {
  if (column.missing()[row] != 0) return py::none();
  if (column.kind() == QueryColumn::Kind::whole) return py::int_(column.whole()[row]);
  if (column.kind() == QueryColumn::Kind::real) return py::float_(column.real()[row]);
  return to_python(query_value_to_json(column.any()[row]));
}

std::vector<QueryColumn> columns_of(LockedSession& session, const std::string& sql) {
  return session.use([&](OpenSession& open) { return value_or_raise(open.query(sql)); });
}

py::list query(LockedSession& session, const std::string& sql) {
  py::list columns;
  for (const QueryColumn& column : columns_of(session, sql)) columns.append(to_tuple(column));
  return columns;
}

py::list query_rows(LockedSession& session, const std::string& sql) {
  const std::vector<QueryColumn> columns = columns_of(session, sql);
  py::list rows;
  const std::size_t num_rows = columns.empty() ? 0 : columns.front().missing().size();
  for (std::size_t row = 0; row < num_rows; ++row) {
    py::dict one;
    for (const QueryColumn& column : columns) one[py::str(column.name())] = value_at(column, row);
    rows.append(one);
  }
  return rows;
}

}  // namespace

void bind_sessions(py::module_& module) {
  py::class_<LockedSession>(module, "Session")
      .def(py::init([](const std::string& place) {
             return without_gil([&] {
               return std::make_unique<LockedSession>(value_or_raise(OpenSession::open(place)));
             });
           }),
           py::arg("place"))
      .def("close",
           [](LockedSession& session) { session.use([](OpenSession& open) { open.close(); }); })
      .def("info",
           [](LockedSession& session) {
             return to_python(
                 session.use([](OpenSession& open) { return value_or_raise(open.info()); }));
           })
      .def("number",
           [](LockedSession& session) {
             return session.use([](OpenSession& open) { return value_or_raise(open.number()); });
           })
      .def("steps",
           [](LockedSession& session) {
             return session.use([](OpenSession& open) { return value_or_raise(open.steps()); });
           })
      .def(
          "step",
          [](LockedSession& session, std::int64_t step) {
            return to_python(
                session.use([&](OpenSession& open) { return value_or_raise(open.step(step)); }));
          },
          py::arg("step"))
      .def(
          "explain",
          [](LockedSession& session, std::int64_t step) {
            return session.use(
                [&](OpenSession& open) { return value_or_raise(open.explain(step)); });
          },
          py::arg("step"))
      .def("query", &query, py::arg("sql"))
      .def("query_rows", &query_rows, py::arg("sql"));
  module.def(
      "list_sessions",
      [](const std::string& file) {
        return to_python(without_gil([&] { return value_or_raise(list_sessions(file)); }));
      },
      py::arg("file"));
}

}  // namespace hybridscope
