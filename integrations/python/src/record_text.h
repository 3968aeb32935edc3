// Python values as JSON, in two steps: what needs the GIL, and the rest.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/python/src/repeated_texts.h"
#include "integrations/python/src/text_buffer.h"

namespace hybridscope {

class RecordText {
 public:
  // Takes dicts, lists, tuples, sets (sorted), text, numbers, None, and arrays of whole numbers,
  // floats or booleans: objects with the buffer protocol, of any shape, whose bytes are copied, or
  // whose host_array() gives one. Other objects are asked for tolist(). Throws the Python exception
  // of a value that cannot be taken. Requires: the GIL.
  explicit RecordText(const pybind11::handle& record);
  // Takes another record, in the memory that it has. Requires: the GIL.
  void take(const pybind11::handle& record);

  // A part of a record to come: arrays, and what else is no JSON, are kept and taken with the
  // record; everything else may change then. `repeated`: texts of parts before this one, of the
  // same `name` (an interned str).
  static RecordText part(const pybind11::str& name, const pybind11::handle& value,
                         RepeatedTexts& repeated);
  // The part that is a dict, of `fields` (a dict): text, numbers and None as they are, for others
  // what member(name, value) makes of them; those that it makes None of are left out.
  static RecordText part_of_fields(const pybind11::dict& fields, const pybind11::function& member);

  // The line of a record, newline included. Without the GIL.
  std::string line() const;
  // Of a part without arrays.
  std::string_view text() const { return text_.view(); }

 private:
  static constexpr std::size_t kMaxDimensions = 4;

  struct Later {
    std::size_t at = 0;  // where it stands in text_
    pybind11::object value;
  };
  struct Array {
    std::size_t at = 0;  // where it stands in text_
    void (*append)(const char* element, TextBuffer& line) = nullptr;
    std::size_t element_size = 0;
    std::size_t begin = 0;  // of its elements in bytes_
    std::size_t num_dimensions = 0;
    std::array<std::size_t, kMaxDimensions> shape{};
  };

  explicit RecordText(std::size_t usual_size) : text_(usual_size), is_part_(true) {}  // a part

  void add(pybind11::handle value);
  void add_container(pybind11::handle value);
  void add_text(pybind11::handle value);
  void add_dict(pybind11::handle value);
  void add_member(pybind11::handle item);
  void add_items(pybind11::handle sequence);
  void add_object(pybind11::handle value);
  void add_part(const RecordText& part);
  bool add_array(pybind11::handle value);
  static void append(const Array& array, std::size_t dimension, const char*& next,
                     TextBuffer& line);

  TextBuffer text_;  // without the arrays
  std::vector<Array> arrays_;
  TextBuffer bytes_{0};       // of the arrays
  std::vector<Later> later_;  // of a part
  bool is_part_ = false;
  RepeatedTexts* repeated_ = nullptr;
  std::size_t place_ = 1;    // of what is added: from its keys; 0: it is in a list
  bool only_leaves_ = true;  // text, numbers and None, since this was set
};

}  // namespace hybridscope
