import Synchronization

/// The existing contexts, by number. Objects that have left their context find it here, so that they need neither a strong nor a weak
/// reference to it.
enum ContextRegistry {
  private static let addresses = Mutex<[UInt64: UInt]>([:])

  static func add(_ context: ManagedObjectContext) {
    // The address is stored as a number, not as a reference. A context removes it in `deinit`.
    let (number, address) = (context.number, UInt(bitPattern: Unmanaged.passUnretained(context).toOpaque()))
    addresses.withLock { $0[number] = address }
  }

  static func remove(_ number: UInt64) { addresses.withLock { _ = $0.removeValue(forKey: number) } }

  /// Returns the context with a number. It cannot be deallocated during the call, because objects, valid or not, are used only in the
  /// isolation of their context.
  static func context(_ number: UInt64) -> ManagedObjectContext? {
    addresses.withLock { $0[number] }.flatMap { UnsafeRawPointer(bitPattern: $0) }.map {
      // Contexts in the table exist; see above.
      Unmanaged<ManagedObjectContext>.fromOpaque($0).takeUnretainedValue()
    }
  }
}
