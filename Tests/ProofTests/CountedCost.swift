import Foundation
import _TestSupport

/// The measured cost of an operation.
struct CountedCost {
  var name: String
  var statements = 0
  var allocations = 0
  var instructions = 0

  static var names: [WritableKeyPath<CountedCost, Int>: String] {
    [\.statements: "statements", \.allocations: "allocations", \.instructions: "instructions"]
  }
}

/// The pinned costs, by the build that they belong to.
struct PinnedCosts {
  private(set) var costs: [String: [CountedCost]] = [:]
  private static var file: URL { Fixtures.repository.appendingPathComponent("Tests/_CountedWork/Costs.txt") }
  private static let head = """
    # What ten works cost (CountedWork.swift): written by Scripts/pin-costs, held by CountedWorkTests.
    # Statements and allocations on 80 books, instructions on 8, without those of libcrypto.

    """

  init() throws {
    var build = ""
    for line in try String(contentsOf: Self.file, encoding: .utf8).split(separator: "\n") where !line.hasPrefix("#") {
      if line.hasPrefix("[") {
        build = String(line.dropFirst().dropLast())
        costs[build] = []
        continue
      }
      let fields = line.split(separator: " ")
      guard fields.count == 4, let statements = Int(fields[1]), let allocations = Int(fields[2]), let instructions = Int(fields[3]) else {
        continue
      }
      costs[build]?.append(
        CountedCost(name: String(fields[0]), statements: statements, allocations: allocations, instructions: instructions))
    }
  }

  /// Replaces the pinned costs of some kinds with measured ones.
  mutating func set(_ found: [CountedCost], _ kinds: [WritableKeyPath<CountedCost, Int>], for build: String) {
    let old = costs[build] ?? []
    costs[build] = found.map { found in
      var cost = old.first { $0.name == found.name } ?? CountedCost(name: found.name)
      for kind in kinds { cost[keyPath: kind] = found[keyPath: kind] }
      return cost
    }
  }

  func write() throws {
    func row(_ fields: [String]) -> String {
      fields[0].padding(toLength: 10, withPad: " ", startingAt: 0)
        + fields.dropFirst().map { String(repeating: " ", count: max(1, 14 - $0.count)) + $0 }.joined()
    }
    var text = Self.head
    text += row(["# work", "statements", "allocations", "instructions"]) + "\n"
    for (build, costs) in costs.sorted(by: { $0.key < $1.key }) {
      text += "\n[\(build)]\n"
      for cost in costs { text += row([cost.name] + [cost.statements, cost.allocations, cost.instructions].map(String.init)) + "\n" }
    }
    try text.write(to: Self.file, atomically: true, encoding: .utf8)
  }
}

/// An output file of callgrind.
struct CallgrindFile {
  /// The instructions of all threads, without those of libcrypto.
  let instructions: Int

  init(_ file: URL) throws {
    var (sum, isCounted, isCall) = (0, true, false)
    // An object's name occurs on first use; later lines use its number.
    var omitted: Set<Substring> = []
    for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
      if line.hasPrefix("ob=") || line.hasPrefix("cob=") {
        let fields = line.drop { $0 != "(" }.split(separator: " ", maxSplits: 1)
        if fields.count == 2, fields[1].contains("/libcrypto") { omitted.insert(fields[0]) }
        if line.hasPrefix("ob="), let number = fields.first { isCounted = !omitted.contains(number) }
      } else if line.hasPrefix("calls=") {
        // The cost of a call is counted in the callee.
        isCall = true
      } else if let first = line.utf8.first, (0x30...0x39).contains(first) || first == 0x2B || first == 0x2D || first == 0x2A {
        if isCounted, !isCall, let cost = line.split(separator: " ").last.flatMap({ Int($0) }) { sum += cost }
        isCall = false
      }
    }
    instructions = sum
  }
}
