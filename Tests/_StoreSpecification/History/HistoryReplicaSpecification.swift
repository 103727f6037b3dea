import ObjectContext
import ObjectModel
import ObjectStore
import XCTest

/// Random changes of two contexts: a replica that is made from the history equals the store after each commit.
public final class HistoryReplicaSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [("testAReplicaOfTheHistoryEqualsTheStore", { $0.testAReplicaOfTheHistoryEqualsTheStore })]
        as [(String, (HistoryReplicaSpecification) -> () throws -> Void)])
  }

  func testAReplicaOfTheHistoryEqualsTheStore() throws {
    for seed in RandomChanges.seeds {
      let open = try makeTracked(RandomChanges.model, level: .values)
      let replica = ChangeReplica(RandomChanges.model, isComplete: true)
      let actions = RandomChanges(open, seed: seed, runsBatches: true)
      var token = try token(open)
      for step in 0..<RandomChanges.stepCount {
        let log = actions.run { _ in }
        for transaction in try transactions(open, after: token) { replica.apply(transaction) }
        token = try self.token(open)
        let differences = try replica.differences(to: open, isHistory: true)
        if !differences.isEmpty { return XCTFail("seed \(seed), step \(step), \(log):\n\(differences.joined(separator: "\n"))") }
      }
    }
  }
}
