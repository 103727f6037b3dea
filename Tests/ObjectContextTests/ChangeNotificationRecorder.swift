import Foundation
import ObjectContext
import ObjectModel

/// Collects a context's notifications of changed objects from its creation on.
final class ChangeNotificationRecorder {
  // Notifications are posted in the context's isolation, which is the test's.
  private var infos: [[AnyHashable: Any]] = []
  private var observer: (any NSObjectProtocol)?

  init(_ context: ManagedObjectContext) {
    nonisolated(unsafe) let notes = Unowned(self)
    observer = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didChangeObjectsNotification, object: context, queue: nil
    ) { notes.value?.infos.append($0.userInfo ?? [:]) }
  }

  private final class Unowned {
    weak var value: ChangeNotificationRecorder?
    init(_ value: ChangeNotificationRecorder) { self.value = value }
  }

  deinit { if let observer { NotificationCenter.default.removeObserver(observer) } }

  /// The objects under a key, from all notifications.
  func objects(_ key: ManagedObjectContext.NotificationKey) -> Set<ManagedObject> {
    infos.reduce(into: []) { $0.formUnion($1[key.rawValue] as? Set<ManagedObject> ?? []) }
  }

  /// The IDs under a key, from all notifications.
  func ids(_ key: ManagedObjectContext.NotificationKey) -> Set<ManagedObjectID> {
    infos.reduce(into: []) { $0.formUnion($1[key.rawValue] as? Set<ManagedObjectID> ?? []) }
  }
}
