// RandomUndoSpecification: random work on a graph, undone to any depth and redone, against contexts that have never gone further.
import ObjectContext
import ObjectModel
import ObjectStore
import XCTest
import _TestSupport

/// Whatever was done: undone to any depth and made again, a context shows, and saves, what a context shows that was never beyond.
public final class RandomUndoSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testUndoneAndRedoneWorkIsWhatItWas", { $0.testUndoneAndRedoneWorkIsWhatItWas }),
        ("testUndoneWorkThatWasSavedBetweenIsWhatItWas", { $0.testUndoneWorkThatWasSavedBetweenIsWhatItWas }),
      ] as [(String, (RandomUndoSpecification) -> () throws -> Void)])
  }

  func testUndoneAndRedoneWorkIsWhatItWas() throws { try run(seed: 130, rounds: 60, savesInTheMiddle: false) }

  func testUndoneWorkThatWasSavedBetweenIsWhatItWas() throws { try run(seed: 131, rounds: 60, savesInTheMiddle: true) }

  /// Each round does some groups of steps twice: in a context that shows what is right after each, and without reading anything in the one that is tested.
  private func run(seed: UInt64, rounds: Int, savesInTheMiddle: Bool) throws {
    var random = SeededGenerator(seed: seed)
    let (right, open) = (try makeStore(UndoGraph.model).newContext(), try makeStore(UndoGraph.model))
    let tested = open.newContext()
    let manager = ContextUndoManager()
    tested.undoManager = manager
    var nextNumber: Int64 = 0
    var last: [String] = []
    // What there was before each group, by the name of its action.
    var before: [String: [String]] = [:]
    var (stepCount, undoCount) = (0, 0)
    for round in 0..<RandomSteps.count(rounds) {
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let name = "group \(before.count)"
        before[name] = last
        manager.setActionName(name)
        for _ in 0..<Int.random(in: 1...6, using: &random) {
          guard let step = try UndoGraph.step(in: right, nextNumber: &nextNumber, using: &random) else { continue }
          try UndoGraph.run(step, in: right)
          try UndoGraph.run(step, in: tested)
          stepCount += 1
          if case .save = step { break }
        }
        right.processPendingChanges()
        tested.processPendingChanges()
        last = try UndoGraph.state(of: right)
        XCTAssertFalse(last.contains { $0.contains("does not have it") }, "\(last)")
      }
      if Int.random(in: 0..<3, using: &random) == 0 {
        // What was read is forgotten, and is unread when it is undone.
        tested.refreshAllObjects()
      }
      var undone: [[String]] = []
      // To any depth now and then.
      let depth = Int.random(in: 1...(round % 20 == 19 ? before.count : min(before.count, 12)), using: &random)
      while undone.count < depth, manager.canUndo {
        undone.append(try UndoGraph.state(of: tested))
        let name = manager.undoActionName
        try tested.undo()
        undoCount += 1
        let state = try UndoGraph.state(of: tested)
        guard state == before[name] else {
          return XCTFail("seed \(seed), round \(round), \(name) of \(before.count): \(Self.difference(state, before[name]))")
        }
        XCTAssertNil(tested.pendingError)
      }
      if savesInTheMiddle {
        try tested.save()
        XCTAssertEqual(try UndoGraph.state(of: open.newContext()), try UndoGraph.state(of: tested), "seed \(seed), round \(round)")
        if round % 3 == 0 { tested.refreshAllObjects() }
      }
      while manager.canRedo, let expected = undone.popLast() {
        try tested.redo()
        let state = try UndoGraph.state(of: tested)
        guard state == expected else {
          return XCTFail("seed \(seed), round \(round), redone to \(undone.count): \(Self.difference(state, expected))")
        }
        if savesInTheMiddle, undone.count % 3 == 1 { try tested.save() }
      }
      XCTAssertTrue(undone.isEmpty && !manager.canRedo, "seed \(seed), round \(round)")
      guard try UndoGraph.state(of: tested) == last else { return XCTFail("seed \(seed), round \(round): the ends differ") }
      if round % 4 == 3 {
        try tested.save()
        XCTAssertEqual(try UndoGraph.state(of: open.newContext()), last)
      }
    }
    XCTAssertGreaterThan(stepCount, 500)
    XCTAssertGreaterThan(undoCount, 300)
  }

  /// The lines in which two states differ.
  private static func difference(_ state: [String], _ other: [String]?) -> String {
    guard let other else { return "nobody knows what it was" }
    return (state.filter { !other.contains($0) }.map { "is   " + $0 } + other.filter { !state.contains($0) }.map { "was  " + $0 })
      .joined(separator: "\n")
  }
}
