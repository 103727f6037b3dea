package import Foundation

/// The files of clients that synchronize with one hub.
package struct SyncWorld: Codable, Sendable {
  /// The folder with everything.
  package var folder: URL

  package init(folder: URL) { self.folder = folder }

  /// The folder of the stores, of the hub, and of their copies.
  package var files: URL { folder.appendingPathComponent("files", isDirectory: true) }
  package var hub: URL { files.appendingPathComponent("hub.store") }
  package func store(_ device: SyncDevice) -> URL { files.appendingPathComponent("\(device).store") }
  package func backup(_ name: String) -> URL { files.appendingPathComponent(name) }

  /// The folder of the logs, of the recovery keys and of the results.
  package var logs: URL { folder.appendingPathComponent("logs", isDirectory: true) }
  package func recoveryKey(account: Int) -> URL { logs.appendingPathComponent("account-\(account).recovery") }
  /// The file in which a process records its saves, one line for each of their states.
  package func log(_ process: Int) -> URL { logs.appendingPathComponent("\(process).log") }
  /// What a process was started with.
  package func order(_ process: Int) -> URL { logs.appendingPathComponent("\(process).order") }
  /// What a process has printed.
  package func output(_ process: Int) -> URL { logs.appendingPathComponent("\(process).output") }
  /// The result of a process that lets an account become quiet.
  package func result(_ process: Int) -> URL { logs.appendingPathComponent("\(process).result") }
}

/// A device of an account, which has one store.
package struct SyncDevice: Codable, Hashable, Sendable, CustomStringConvertible {
  package var account: Int
  package var number: Int

  package init(account: Int, number: Int) { (self.account, self.number) = (account, number) }

  package var description: String { "a\(account)d\(number)" }
}

/// What a process does.
package enum SyncTask: Codable, Sendable {
  /// Creates the account with the device's store.
  case create(SyncDevice)
  /// Joins the account if necessary, and saves until it is killed or has done a number of steps.
  ///
  /// If it is to be killed in a call, the calls are counted from its beginning, or from when the store is open.
  case write(SyncDevice, steps: Int, blow: KillBlow?, countsFromOpening: Bool)
  /// Replaces the device's store with a backup.
  case restore(SyncDevice, backup: String)
  /// Lets the devices of an account synchronize until they are quiet, and writes their contents.
  case settle(account: Int, devices: Int)
}

/// One process.
package struct SyncOrder: Codable, Sendable {
  package var world: SyncWorld
  /// The number of the process, which no other process has.
  package var process: Int
  package var seed: UInt64
  package var task: SyncTask

  package init(world: SyncWorld, process: Int, seed: UInt64, task: SyncTask) {
    (self.world, self.process, self.seed, self.task) = (world, process, seed, task)
  }
}

/// The contents of the stores of an account when they are quiet.
package struct SyncResult: Codable, Sendable {
  package struct Replica: Codable, Sendable {
    package var device: SyncDevice
    /// The objects by their keys.
    package var objects: [String: SyncedObjectState]
    package var pendingCount: Int
    /// How the objects differ from the records, or these from those of the hub; nil if they do not.
    package var difference: String?

    package init(device: SyncDevice, objects: [String: SyncedObjectState], pendingCount: Int) {
      (self.device, self.objects, self.pendingCount) = (device, objects, pendingCount)
    }
  }

  package var replicas: [Replica]

  package init(replicas: [Replica]) { self.replicas = replicas }
}

/// The values of an object.
package struct SyncedObjectState: Codable, Hashable, Sendable {
  package var entity: String
  package var stableID: String?
  package var value: Int64
  package var text: String
  package var place: Int64
  /// The key of the object that contains it.
  package var container: String?

  package init(entity: String, stableID: String?, value: Int64, text: String, place: Int64, container: String?) {
    (self.entity, self.stableID, self.value, self.text) = (entity, stableID, value, text)
    (self.place, self.container) = (place, container)
  }
}
