import Foundation
import ObjectStore
package import SyncCore
import SyncCrypto
import SyncHub

/// The result of comparing a store with its records, and these with those of the hub.
package struct SyncVerificationResult: Hashable, Sendable {
  /// The comparison of the records with those of the hub.
  package let records: Verification.Result
  /// The comparison of the objects with the records.
  package let objects: ObjectVerification
  package var isEqual: Bool { records.isEqual && objects.isEqual }
}

extension SyncService {
  /// Compares the objects of the store with its records, and these with those of the hub, exactly. Sends and pulls everything first.
  ///
  /// The result is part of ``status()``.
  /// - Parameter progress: Called after each step of sending and pulling.
  package func verify(progress: (@Sendable (SyncRunner.Round) -> Void)? = nil) async throws -> SyncVerificationResult {
    // Other devices may push at any time; the comparison needs a moment in which none does.
    for _ in 0..<Self.maximumAttempts {
      try await synchronize(progress: progress)
      guard let records = try await runner.compareWithHub() else { continue }
      var objects = try await runner.compareObjects()
      if !objects.isEqual {
        // The effects of a save that was made meanwhile can be incomplete until the next round.
        try await synchronize(progress: progress)
        objects = try await runner.compareObjects()
      }
      let result = SyncVerificationResult(records: records, objects: objects)
      try await runner.recordVerification(result)
      return result
    }
    throw SyncError(.hubBusy, path: store.url?.path)
  }

  private static let maximumAttempts = 20
}

extension SyncRunner {
  /// Compares the records with those of the hub.
  ///
  /// - Returns: Nil if another device has pushed meanwhile.
  fileprivate func compareWithHub() async throws -> Verification.Result? {
    var verification = Verification(sealing, ZoneHashing(zone: zoneID()))
    var action = try withReplica { try verification.begin(in: $0) }
    while true {
      switch action {
      case .synchronize: return nil
      case .finish(let result): return result
      case .send(let request):
        try Task.checkCancellation()
        let answer = try await hub.verify(request, zone: zoneID())
        action = try withReplica { try verification.receive(answer, in: $0) }
      }
    }
  }

  /// Compares the objects with the records.
  func compareObjects() async throws -> ObjectVerification {
    var verification = ObjectVerification()
    while try !withReplica({ try $0.verifyObjects(&verification) }) {
      try Task.checkCancellation()
      // Let saves of the application run.
      await Task.yield()
    }
    return verification
  }

  fileprivate func recordVerification(_ result: SyncVerificationResult) throws {
    try withReplica { replica in
      try replica.transaction {
        var report = try replica.report()
        (report.isVerified, report.verificationDate) = (result.isEqual, Date())
        try replica.setReport(report)
      }
    }
  }
}

extension SyncError.Reason {
  fileprivate static var hubBusy: Self {
    Self(.busy, "Other devices push all the time, so that the records could not be compared. Try again when they are quiet.")
  }
}
