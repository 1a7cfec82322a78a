// A program of several classes, some of which a test takes away or cuts short.
public class Leads {
  static { System.out.print("Content-Type: text/plain\r\n\r\nLeads is initialized\n"); }
  static class Counts {
    static int count;
    static { System.out.println("Counts is initialized " + ++count); }
  }
  static class Extends extends Counts { static { System.out.println("Extends is initialized " + ++count); } }
  static class Missing { static void call() { System.out.println("there"); } }
  static class Cut { static void call() { System.out.println("there"); } }
  static class NeedsMissing extends Missing { }

  static void attempt(Runnable deed) {
    try { deed.run(); } catch (LinkageError error) { System.out.println(error); }
  }

  public static void main(String[] words) throws Exception {
    System.out.println("main");
    for (int i = 0; i < 2; ++i) {
      attempt(() -> Missing.call());
      attempt(() -> Cut.call());
      attempt(() -> new NeedsMissing());
      attempt(() -> System.out.println(++Extends.count));
    }
    System.out.println(Class.forName("Leads$Counts").getDeclaredFields().length);
    Counts.count = 100;
  }
}
