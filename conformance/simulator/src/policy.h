// What the device does with an op: the support table, the trackers and the hook of the fault injection.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <atomic>
#include <csignal>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <vector>

namespace neuronsim {

// The numbers are shared with conformance/simulator/table.py.
enum class Mode : int { Native = 0, Fallback = 1, Refused = 2, Failing = 3, Untracked = 4, Wrong = 5 };

struct Rule {
  uint64_t dtypes;  // a bit per c10::ScalarType; the rule holds when an argument has one of them
  Mode mode;
  std::string text;
};
using Rules = std::vector<Rule>;

// What a fault asks for. The numbers are shared with conformance/simulator/faults.py.
enum class Fault : int { None = 0, Wrong = 1, Error = 2, Crash = 3, Hang = 4 };
using Hook = int (*)(const char* op, uint64_t dtypes, double* amount, char* text, int capacity);

struct Op {
  std::string name;  // aten::add_
  std::string full;  // aten::add_.Tensor
  std::string base;  // add
  bool moves;        // views, allocation and transfer: no arithmetic, so neither tracked nor limited
  bool draws;        // draws random numbers without a generator argument
  bool runs_on_cpu;  // the CPU has a kernel
  int dtype_arg;     // index of the argument `dtype`, -1 without
  const Rules* rules = nullptr;
  std::atomic<uint64_t> executed{0}, fell_back{0};  // the clearing in which it last did
};

struct Policy {
  std::mutex lock;
  std::deque<Op> ops;
  std::unordered_map<std::string, Op*> by_name;  // with overload
  std::map<std::string, Rules> table;            // by base name; "" is for every op
  std::deque<Rules> resolved;                    // kept: a running kernel may still read an old one
  std::atomic<uint64_t> clearing{1};
  std::atomic<int> compiled_region{0};
  std::atomic<Hook> hook{nullptr};
  bool only_unimplemented = false, refuse_eager = false, refuse_compiled = true;
};

inline Policy& policy() {
  static Policy only;
  return only;
}

inline std::string base_of(const std::string& name) {
  auto base = name.substr(name.find("::") + 2);
  const bool dunder = base.size() > 2 && base.compare(base.size() - 2, 2, "__") == 0;
  if (!dunder && base.size() > 1 && base.back() == '_') base.pop_back();
  return base;
}

inline bool moves(const c10::FunctionSchema& schema, const std::string& base) {
  static const std::vector<std::string> kMoves{"set", "resize", "resize_as", "empty", "_local_scalar_dense",
                                               "record_stream", "_resize_output"};
  if (std::find(kMoves.begin(), kMoves.end(), base) != kMoves.end()) return true;
  const auto& returns = schema.returns();
  return !returns.empty() && returns[0].alias_info() && !returns[0].alias_info()->isWrite();
}

inline void resolve(Op& op) {
  auto& p = policy();
  Rules rules;
  for (const auto& key : {op.base, std::string()}) {
    auto found = p.table.find(key);
    if (found != p.table.end() && !op.moves) rules.insert(rules.end(), found->second.begin(), found->second.end());
  }
  p.resolved.push_back(std::move(rules));
  op.rules = &p.resolved.back();
}

inline Op& op_of(const c10::OperatorHandle& handle) {
  auto& p = policy();
  std::lock_guard<std::mutex> held(p.lock);
  auto full = c10::toString(handle.operator_name());
  if (auto found = p.by_name.find(full); found != p.by_name.end()) return *found->second;
  auto& op = p.ops.emplace_back();
  op.name = handle.operator_name().name;
  op.full = full;
  op.base = base_of(op.name);
  op.moves = moves(handle.schema(), op.base);
  op.draws = handle.hasTag(at::Tag::nondeterministic_seeded) && !handle.schema().argumentIndexWithName("generator");
  op.runs_on_cpu = handle.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU);
  op.dtype_arg = handle.schema().argumentIndexWithName("dtype").value_or(-1);
  resolve(op);
  return *(p.by_name[full] = &op);
}

inline const Rule* rule_for(const Op& op, uint64_t dtypes) {
  for (const auto& rule : *op.rules)
    if (rule.dtypes & dtypes || rule.dtypes == ~0ull) return &rule;
  return nullptr;
}

// Runs the hook's fault; true when the answer is to be made wrong.
inline bool inject(const Op& op, uint64_t dtypes) {
  auto hook = policy().hook.load();
  if (!hook) return false;
  double amount = 0;
  char text[1024] = "";
  switch (Fault(hook(op.base.c_str(), dtypes, &amount, text, sizeof text))) {
    case Fault::Crash:
      ::kill(::getpid(), int(amount));
      std::this_thread::sleep_for(std::chrono::seconds(5));  // a signal to the process may reach another thread
      break;
    case Fault::Hang:
      std::this_thread::sleep_for(std::chrono::duration<double>(amount));
      break;
    case Fault::Error:
      TORCH_CHECK(false, text);
    case Fault::Wrong:
      return true;
    case Fault::None:
      break;
  }
  return false;
}

// An op that the compiler did not see by name fails as one that it refused: with its code for unsupported operators.
constexpr auto kUnsupported = "[NCC_EUOC002] ";

inline void fall_back(Op& op, const Rule& rule) {
  auto& p = policy();
  const bool compiled = p.compiled_region.load() > 0;
  TORCH_CHECK_NOT_IMPLEMENTED(!(compiled ? p.refuse_compiled : p.refuse_eager), compiled ? kUnsupported : "",
                              "neuron (simulated): '", op.name, "' would run on the CPU (", rule.text,
                              "), which TORCH_NEURONX_DISABLE_FALLBACK_EXECUTION forbids");
  // Each time and not once: the outcome of a test that counts warnings must not depend on who ran before it.
  // Inside a compiled graph nobody turns it into a Python warning, and it would flood stderr.
  if (!compiled) TORCH_WARN("neuron (simulated): '", op.name, "' ran on the CPU: ", rule.text);
  op.fell_back = p.clearing.load(std::memory_order_relaxed);
}

// Takes the decision, counts it, and says whether the answer is to be made wrong. Throws when the op is refused.
inline bool decide(Op& op, uint64_t dtypes) {
  const bool wrong = inject(op, dtypes);
  if (op.moves) return wrong;
  const auto* rule = rule_for(op, dtypes);
  const auto mode = rule ? rule->mode : Mode::Native;
  switch (mode) {
    case Mode::Refused:
      TORCH_CHECK_NOT_IMPLEMENTED(false, policy().compiled_region.load() > 0 ? kUnsupported : "",
                                  "neuron (simulated): '", op.name, "' is not supported: ", rule->text);
    case Mode::Failing:
      TORCH_CHECK(!policy().only_unimplemented, "neuron (simulated): '", op.name, "' failed: ", rule->text);
      fall_back(op, *rule);
      break;
    case Mode::Fallback:
      fall_back(op, *rule);
      break;
    case Mode::Untracked:
      break;
    case Mode::Native:
    case Mode::Wrong:
      op.executed.store(policy().clearing.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  return wrong || mode == Mode::Wrong;
}

}  // namespace neuronsim
