// EndAction: what is done when nobody has something any more.

/// Does something when its last holder lets it go.
final class EndAction: Sendable {
  private let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  deinit { body() }
}
