// LivingContexts: the contexts there are, by their numbers.
import Synchronization

/// The contexts there are, for objects that have left theirs: one that is of no use any more keeps none alive, and pays for no weak reference.
enum LivingContexts {
  private static let addresses = Mutex<[UInt64: UInt]>([:])

  static func add(_ context: ManagedObjectContext) {
    // A number, not a reference: a context takes it out again before it goes (`deinit`).
    let (number, address) = (context.number, UInt(bitPattern: Unmanaged.passUnretained(context).toOpaque()))
    addresses.withLock { $0[number] = address }
  }

  static func remove(_ number: UInt64) { addresses.withLock { _ = $0.removeValue(forKey: number) } }

  /// The context of a number. Objects, gone or not, are used in the isolation of their context only, so it cannot go meanwhile.
  static func context(_ number: UInt64) -> ManagedObjectContext? {
    addresses.withLock { $0[number] }.flatMap { UnsafeRawPointer(bitPattern: $0) }.map {
      // What is still in the table is alive: see above.
      Unmanaged<ManagedObjectContext>.fromOpaque($0).takeUnretainedValue()
    }
  }
}
