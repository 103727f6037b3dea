import CipherData
import CipherDataSync
import Foundation
import _ProofStore

/// Lets the devices of an account synchronize until all have the same.
struct SyncSettlement {
  private let setting: SyncSetting
  private let devices: [SyncDevice]

  /// The number of rounds after which the devices must be quiet. Three are necessary: all send, all receive, and what follows from it is sent.
  private static let maximumRounds = 10

  init(_ order: SyncOrder, account: Int, devices: Int) {
    setting = SyncSetting(order.world)
    self.devices = (0..<devices).map { SyncDevice(account: account, number: $0) }
  }

  /// Returns what the devices have at the end, whether or not it is the same.
  func result() async throws -> SyncResult {
    var containers: [PersistentCloudContainer] = []
    for device in devices { containers.append(try await setting.openMember(device)) }
    var replicas: [SyncResult.Replica] = []
    for round in 0..<Self.maximumRounds {
      for container in containers { try await container.synchronize() }
      if round < 2 { continue }
      replicas = []
      for (device, container) in zip(devices, containers) {
        replicas.append(
          SyncResult.Replica(
            device: device, objects: try await container.contents(), pendingCount: try await container.pendingCount))
      }
      if replicas.allSatisfy({ $0.pendingCount == 0 && $0.objects == replicas[0].objects }) { break }
    }
    for (index, container) in containers.enumerated() where try await !container.verifyState() {
      replicas[index].difference = "\(try await container.reconcile())"
    }
    for container in containers { try container.close() }
    return SyncResult(replicas: replicas)
  }
}
