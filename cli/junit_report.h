// Scenarios and traces as a JUnit report.
#pragma once

#include "cli/junit_file.h"
#include "cli/tested_unit.h"

namespace hybridscope {

// A testcase a rule, one more for each other type of problem; a unit that did not run has the one
// testcase "run". Errors fail the testcase of their type, warnings do not.
JunitSuite junit_suite(const TestedUnit& unit);

}  // namespace hybridscope
