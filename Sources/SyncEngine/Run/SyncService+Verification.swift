import Foundation
import ObjectStore
package import SyncCore
import SyncCrypto
import SyncHub

extension SyncService {
  /// Compares the records of the store with those of the hub, exactly, by their versions. Sends and pulls everything first.
  ///
  /// The result is part of ``status()``.
  package func verify() async throws -> Verification.Result {
    // Other devices may push at any time; the comparison needs a moment in which none does.
    for _ in 0..<Self.maximumAttempts {
      try await synchronize()
      if let result = try await runner.compareWithHub() { return result }
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
      case .finish(let result):
        try withReplica { replica in
          try replica.transaction {
            var report = try replica.report()
            (report.isVerified, report.verificationDate) = (result.isEqual, Date())
            try replica.setReport(report)
          }
        }
        return result
      case .send(let request):
        try Task.checkCancellation()
        let answer = try await hub.verify(request, zone: zoneID())
        action = try withReplica { try verification.receive(answer, in: $0) }
      }
    }
  }
}

extension SyncError.Reason {
  fileprivate static var hubBusy: Self {
    Self(.busy, "Other devices push all the time, so that the records could not be compared. Try again when they are quiet.")
  }
}
