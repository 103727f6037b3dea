import ObjectContext
import ObjectModel
import ObjectStore
import XCTest

/// Random changes of two contexts: a replica that is made from the reported changes equals the store after each commit.
public final class ChangeReplicaSpecification: ObjectSpecification {
  public override class var cases: [Case] {
    list(
      [("testAReplicaOfTheObservedChangesEqualsTheStore", { $0.testAReplicaOfTheObservedChangesEqualsTheStore })]
        as [(String, (ChangeReplicaSpecification) -> () throws -> Void)])
  }

  func testAReplicaOfTheObservedChangesEqualsTheStore() throws {
    for seed in RandomChanges.seeds {
      let open = try makeStore(RandomChanges.model)
      let isComplete = open.store is any ChangeReportingStore
      let replica = ChangeReplica(RandomChanges.model, isComplete: isComplete)
      let observer = ReplicatingObserver()
      try open.coordinator.addTransactionObserver(observer, options: .init(includesOldValues: true, includesNewValues: true))
      let actions = RandomChanges(open, seed: seed, runsBatches: isComplete)
      for step in 0..<RandomChanges.stepCount {
        let log = actions.run { isRejected in observer.reject(with: isRejected ? RandomChanges.Rejection() : nil) }
        for change in observer.takeChanges() { try replica.apply(change) }
        let differences = try replica.differences(to: open)
        if !differences.isEmpty { return XCTFail("seed \(seed), step \(step), \(log):\n\(differences.joined(separator: "\n"))") }
      }
      XCTAssertGreaterThan(actions.saveCount, RandomChanges.stepCount / 4)
    }
  }
}
