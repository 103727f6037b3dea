import Foundation
import ObjectStore
import SQLCipherStore
import StoreKeys
import _ProofStore
import _StoreSpecification
import _TestSupport

extension KillActor {
  private func withFile(_ body: @escaping @Sendable (SQLCipherStoreFile) async throws -> Void) throws {
    let file = try settings.unlock(round.store)
    try waitFor { try await body(file) }
  }

  func changePassphrase() throws {
    let new = "p\(order.number).\(UInt32.random(in: 0...UInt32.max, using: &random))"
    let former = passphrase
    var step = KillStep("passphrase")
    (step.passphrase, step.formerPassphrase) = (new, former)
    let isDone = try self.step(step) {
      try withFile { file in
        let key = StoreKey.passphrase(new, .cheapForTests())
        guard let former else {
          _ = try await file.addKey(key)
          return
        }
        _ = try await file.changeKey(from: .passphrase(former, .cheapForTests()), to: key)
      }
    }
    if isDone { passphrase = new }
  }

  func rotate() throws {
    _ = try step(KillStep("rotate")) { try withFile { try await $0.rotateDataKey() } }
    usleep(3_000)
  }

  func compact() throws {
    _ = try step(KillStep("compact")) { try withFile { _ = try await $0.compact() } }
    usleep(3_000)
  }

  func backUp() throws {
    var step = KillStep("back up")
    let copy = "copy.\(order.number).\(UInt32.random(in: 0...UInt32.max, using: &random))"
    step.copy = KillCopy(copy)
    let place = round.storeFolder.appendingPathComponent(copy)
    _ = try self.step(step) { try withFile { try await $0.backUp(to: place) } }
  }
}
