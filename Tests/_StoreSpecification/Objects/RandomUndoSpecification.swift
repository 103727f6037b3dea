import ObjectContext
import ObjectModel
import ObjectStore
import XCTest
import _TestSupport

/// After random changes, undo to any depth and redo, a context shows and saves the same as one that never went further.
public final class RandomUndoSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [
        ("testUndoAndRedoRestoreTheGraph", { $0.testUndoAndRedoRestoreTheGraph }),
        ("testUndoAcrossSavesRestoresTheGraph", { $0.testUndoAcrossSavesRestoresTheGraph }),
        ("testUndoingEverythingLeavesNoChanges", { $0.testUndoingEverythingLeavesNoChanges }),
      ] as [(String, (RandomUndoSpecification) -> () throws -> Void)])
  }

  func testUndoAndRedoRestoreTheGraph() throws { try run(seed: 130, rounds: 60, savesInTheMiddle: false) }

  func testUndoAcrossSavesRestoresTheGraph() throws { try run(seed: 131, rounds: 60, savesInTheMiddle: true) }

  /// Each round runs groups of steps twice: in a reference context that shows the expected state after each, and, without reading anything,
  /// in the tested one.
  private func run(seed: UInt64, rounds: Int, savesInTheMiddle: Bool) throws {
    var random = SeededGenerator(seed: seed)
    let (right, open) = (try makeStore(UndoGraph.model).newContext(), try makeStore(UndoGraph.model))
    let tested = open.newContext()
    let manager = ContextUndoManager()
    tested.undoManager = manager
    var nextNumber: Int64 = 0
    var last: [String] = []
    // The state before each group, by the name of its action.
    var before: [String: [String]] = [:]
    var (stepCount, undoCount) = (0, 0)
    for round in 0..<RandomSteps.count(rounds) {
      var bereft: (number: Int64, key: String)?
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let name = "group \(before.count)"
        before[name] = last
        manager.setActionName(name)
        var first = try bereft.flatMap { try UndoGraph.assignment(to: $0, in: right, using: &random) }
        bereft = nil
        for _ in 0..<Int.random(in: 1...6, using: &random) {
          guard let step = try first ?? UndoGraph.step(in: right, nextNumber: &nextNumber, using: &random) else { continue }
          first = nil
          if case .delete(let number) = step { bereft = try UndoGraph.owner(of: number, in: right, using: &random) }
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
        // Loaded values are released, and are unloaded when changes are undone.
        tested.refreshAllObjects()
      }
      var undone: [[String]] = []
      // Occasionally to any depth.
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

  /// Each round runs groups of steps on a saved graph, undoes all of them, redoes them, and undoes them again.
  func testUndoingEverythingLeavesNoChanges() throws {
    var random = SeededGenerator(seed: 132)
    let (right, tested) = (try makeStore(UndoGraph.model).newContext(), try makeStore(UndoGraph.model).newContext())
    let manager = ContextUndoManager()
    tested.undoManager = manager
    var (nextNumber, kinds, assignmentCount): (Int64, [String: Int], Int) = (0, [:], 0)
    for round in 0..<RandomSteps.count(120) {
      let saved = try UndoGraph.state(of: right)
      // Members are unloaded or loaded, or the objects are not in memory.
      if round % 3 == 0 { tested.reset() } else if round % 3 == 1 { tested.refreshAllObjects() }
      manager.removeAllActions()
      var log: [UndoGraph.Step] = []
      var bereft: (number: Int64, key: String)?
      for _ in 0..<Int.random(in: 1...5, using: &random) {
        // An owner whose member was deleted in the previous event gets others assigned, usually without reading any.
        var first = try bereft.flatMap { try UndoGraph.assignment(to: $0, in: right, using: &random) }
        if first != nil { assignmentCount += 1 }
        bereft = nil
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          guard let step = try first ?? UndoGraph.step(in: right, nextNumber: &nextNumber, using: &random) else { continue }
          first = nil
          if case .save = step { continue }
          if case .delete(let number) = step { bereft = try UndoGraph.owner(of: number, in: right, using: &random) }
          try UndoGraph.run(step, in: right)
          try UndoGraph.run(step, in: tested)
          log.append(step)
          kinds[String(describing: step).prefix { $0 != "(" }.description, default: 0] += 1
        }
        right.processPendingChanges()
        tested.processPendingChanges()
      }
      let last = try UndoGraph.state(of: right)
      for pass in 0..<2 {
        let message = "seed 132, round \(round), pass \(pass), \(log)"
        while manager.canUndo { try tested.undo() }
        checkUnchanged(tested, message)
        guard try UndoGraph.state(of: tested) == saved else {
          return XCTFail("\(message): \(Self.difference(try UndoGraph.state(of: tested), saved))")
        }
        checkUnchanged(tested, message)
        while manager.canRedo { try tested.redo() }
        guard try UndoGraph.state(of: tested) == last else {
          return XCTFail("\(message), redone: \(Self.difference(try UndoGraph.state(of: tested), last))")
        }
      }
      for context in [right, tested] { if round % 5 == 4 { context.rollback() } else { try context.save() } }
      if testRun?.totalFailureCount ?? 0 > 0 { return }
    }
    for kind in ["insert", "setValue", "setToOne", "add", "remove", "move", "insertMember", "replaceMember", "setMembers", "delete"] {
      XCTAssertGreaterThan(kinds[kind] ?? 0, 0, kind)
    }
    XCTAssertGreaterThan(assignmentCount, 10)
  }

  private func checkUnchanged(_ context: ManagedObjectContext, _ message: @autoclosure () -> String, line: UInt = #line) {
    let changed = context.insertedObjects.union(context.updatedObjects).union(context.deletedObjects)
    if !context.hasChanges, changed.isEmpty { return }
    let objects = changed.map { object in
      "\(object.entity.name) \(object.objectID.key) inserted \(object.isInserted) deleted \(object.isDeleted) \(object.changedValues())"
    }
    XCTFail("\(message()): changed are \(objects), hasChanges \(context.hasChanges)", line: line)
  }

  /// The lines in which two states differ.
  private static func difference(_ state: [String], _ other: [String]?) -> String {
    guard let other else { return "the previous value is unknown" }
    return (state.filter { !other.contains($0) }.map { "is   " + $0 } + other.filter { !state.contains($0) }.map { "was  " + $0 })
      .joined(separator: "\n")
  }
}
